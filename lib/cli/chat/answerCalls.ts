import { concat, concatMap, defaultIfEmpty, defer, EMPTY, filter, ignoreElements, map, of, Subject } from 'rxjs';
import { takeUntil, tap, type Observable } from 'rxjs';
import type { CallAnswers, WaitingCall } from '../../core/approval.js';
import type { RunEvent } from '../../core/event.js';
import { asArray, objectOrEmpty, tryParseFinite, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { innermost } from '../../core/nested.js';
import { escapeHidden, plainText } from '../../core/plainText.js';
import type { LineInput } from './lineInput.js';

const DECLINE = '/decline';

export class CallAnswerer {
  private readonly waiting = new Subject<WaitingCall>();
  private readonly open = new Set<string>();
  private readonly ended = new Subject<string>();
  private readonly given = new Subject<CallAnswers>();
  readonly answers = this.given.asObservable();

  constructor(private readonly input: LineInput) {}

  texts(): Observable<string> {
    return this.waiting.pipe(
      concatMap((call) =>
        defer(() => (this.open.has(call.id) ? this.ask(call) : EMPTY)).pipe(
          takeUntil(this.ended.pipe(filter((id) => id === call.id))), // another one has answered, or its time is over
        ),
      ),
    );
  }

  observe(event: RunEvent): void {
    if (event.type === 'result') this.end();
    const known = innermost(event);
    if (known.type === 'toolResult' && this.open.delete(known.id)) this.ended.next(known.id);
    if (known.type !== 'toolWaiting') return;
    this.open.add(known.id);
    this.waiting.next(known);
  }

  end(): void {
    for (const id of this.open) this.ended.next(id);
    this.open.clear();
    this.waiting.complete();
  }

  private ask({ id, question, details, name, arguments: args }: WaitingCall): Observable<string> {
    const asked = question ? question.message : escapeHidden(`Run ${name} ${JSON.stringify(args)}?`);
    const lines = [question?.problem, asked, details && escapeHidden(JSON.stringify(details))].filter(
      (line) => line !== undefined,
    );
    const typed = question ? this.askFields(question.schema) : this.confirm();
    const reply = typed.pipe(
      map((value): CallAnswers =>
        question ? { results: { [id]: value } } : { decisions: { [id]: { approve: true } } },
      ),
      defaultIfEmpty<CallAnswers, CallAnswers>({ decisions: { [id]: { approve: false } } }),
      tap((answer) => this.given.next(answer)),
      ignoreElements(),
    );
    return concat(of(`${plainText(lines.join('\n'))}\n`), reply);
  }

  private confirm(): Observable<JsonObject> {
    return this.askField('y/N', { type: 'boolean' }, true).pipe(
      filter((isConfirmed) => isConfirmed === true),
      map(() => ({})),
    );
  }

  /** Each field is a line. Completes without a value if the person declines. */
  private askFields({ properties, required }: JsonObject): Observable<JsonObject> {
    const fields = Object.entries(objectOrEmpty(properties));
    if (fields.length === 0) return this.confirm();
    const names = asArray(required);
    return fields.reduce<Observable<JsonObject>>(
      (before, [name, field]) =>
        before.pipe(
          concatMap((all) =>
            this.askField(name, objectOrEmpty(field), names.includes(name)).pipe(
              map((value) => (value === undefined ? all : { ...all, [name]: value })),
            ),
          ),
        ),
      of({}),
    );
  }

  /** An empty line leaves out a field that may be absent, and declines otherwise, as Ctrl-D does. */
  private askField(name: string, field: JsonObject, isRequired: boolean): Observable<JsonValue | undefined> {
    const { title, description, default: given } = field;
    const notes = [
      [description, title].find(isText),
      optionsOf(field).map(shown).join(', '),
      given !== undefined && `default ${shown(given)}`,
      !isRequired && 'optional',
    ].filter(Boolean);
    const prompt = plainText(notes.length > 0 ? `${name} (${notes.join('; ')}): ` : `${name}: `).replaceAll('\n', ' ');
    return defer(() => this.input.ask(prompt, { isNew: true })).pipe(
      map((line) => line.trim()),
      filter((text) => text !== DECLINE && (text !== '' || !isRequired || given !== undefined)),
      map((text) => (text === '' ? given : valueOf(text, field))),
    );
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

const shown = (value: unknown): string => escapeHidden(isText(value) ? value : JSON.stringify(value));

function optionsOf({ enum: values, oneOf, anyOf, items }: JsonObject): readonly unknown[] {
  const constants = [...asArray(oneOf), ...asArray(anyOf)].map((option) => objectOrEmpty(option)['const']);
  const inner = items === undefined ? [] : optionsOf(objectOrEmpty(items));
  return [...asArray(values), ...constants, ...inner].filter((option) => option !== undefined);
}

/** A text of another type than the schema's is sent as it is: the person is asked again, with the reason. */
function valueOf(text: string, { type, items }: JsonObject): JsonValue {
  switch (type) {
    case 'number':
    case 'integer':
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return /^(y|yes|true)$/i.test(text) || (!/^(n|no|false)$/i.test(text) && text);
    case 'array':
      return text.split(',').map((each) => valueOf(each.trim(), objectOrEmpty(items)));
    case 'object':
      return tryParseFinite(text) ?? text;
    default:
      return text;
  }
}
