import { isRecord, nonEmptyString, objectOrEmpty, type JsonObject, type JsonValue } from '../../core/json/json.js';

interface Submission {
  readonly content: readonly JsonValue[];
  id?: string;
}

/** The server queues it or prepends it to results: no request repeats it. Source: guide "Mid-turn steering". */
export class Steering {
  private submissions: Submission[] = [];
  private whenAcknowledged: (() => void)[] = [];

  get isActive(): boolean {
    return this.submissions.length > 0;
  }

  add(content: readonly JsonValue[]): void {
    this.submissions.push({ content });
  }

  acknowledge({ type, steer }: JsonObject): boolean {
    const id = nonEmptyString(objectOrEmpty(steer)['id']);
    const isFailed = type === 'response.steer.failed';
    // They are acknowledged in the order in which they were sent.
    const known = this.submissions.find((submission) => submission.id === id && id !== undefined);
    const submission = known ?? this.submissions.find((other) => other.id === undefined);
    if (submission && isFailed) this.submissions.splice(this.submissions.indexOf(submission), 1);
    else if (submission) submission.id = id ?? '';
    if (this.submissions.every((other) => other.id !== undefined)) this.settle();
    return isFailed;
  }

  afterAcknowledgement(callback: () => void): void {
    if (this.submissions.every(({ id }) => id !== undefined)) callback();
    else this.whenAcknowledged.push(callback);
  }

  remove(input: unknown): readonly JsonValue[] | undefined {
    const items: readonly JsonValue[] = Array.isArray(input) ? input : [];
    const content = items.filter(isUserMessage).flatMap(contentOf);
    const sent = this.submissions.flatMap((submission) => submission.content);
    this.submissions = [];
    const rest = content.slice(sent.length);
    if (JSON.stringify(content.slice(0, sent.length)) !== JSON.stringify(sent)) return undefined;
    return [...items.filter((item) => !isUserMessage(item)), ...(rest.length === 0 ? [] : [userMessageOf(rest)])];
  }

  clear(): void {
    this.submissions = [];
    this.settle();
  }

  private settle(): void {
    for (const callback of this.whenAcknowledged.splice(0)) callback();
  }
}

export const userMessageOf = (content: readonly JsonValue[]): JsonObject => ({
  type: 'message',
  role: 'user',
  content,
});

export const isUserMessage = (item: JsonValue): boolean => isRecord(item) && item['role'] === 'user';

const contentOf = (item: JsonValue): readonly JsonValue[] => {
  const { content } = objectOrEmpty(item);
  return Array.isArray(content) ? (content as readonly JsonValue[]) : [];
};

/** A message with other fields cannot steer. */
const fields: ReadonlySet<string> = new Set(['type', 'role', 'content']);

export function steeringContent(items: readonly JsonObject[]): readonly JsonValue[] | undefined {
  const isAccepted = items.every((item) => isUserMessage(item) && Object.keys(item).every((name) => fields.has(name)));
  return isAccepted && items.length > 0 ? items.flatMap(contentOf) : undefined;
}
