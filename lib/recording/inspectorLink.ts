import { asyncScheduler } from 'rxjs';
import { nanoid } from 'nanoid/non-secure';
import { reportUnhandled } from '../core/createOperator.js';
import { ConfigurationError } from '../core/errors.js';

/** The time after which a run asks again for an inspector that did not answer, in milliseconds. */
const RETRY_TIME = 2000;

/** The longest text that waits to be sent, in characters. What exceeds it is not sent. */
const LONGEST_QUEUE = 8_388_608;

/** The longest body of a request, in characters. The inspector accepts twice as much. */
const LONGEST_BODY = 2_097_152;

/** The hosts of an address of this machine. */
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Whether an inspector listens: not known yet, or the answer to the last request. */
type State = 'unknown' | 'absent' | 'present';

/** Sends the lines of recordings to an inspector on this machine, as long as there is one. */
export class InspectorLink {
  private readonly url: string;
  private readonly token: string;
  private readonly source = nanoid();
  private state: State = 'unknown';
  private triedAt = -Infinity;
  private isSending = false;
  private isRejected = false;
  private queue: string[] = [];
  private length = 0;
  private readonly request: typeof fetch | undefined;

  /** @throws ConfigurationError `options` for an address that is not one of an inspector. */
  constructor(address: string, { fetch: request }: { readonly fetch?: typeof fetch | undefined }) {
    const { url, token } = parseAddress(address);
    this.url = `${url}api/entries`;
    this.token = token;
    this.request = request;
  }

  /** Whether a run that starts now should be recorded. It asks for the inspector if that is not known. */
  isWanted(): boolean {
    if (this.state === 'present' || this.isRejected) return !this.isRejected;
    const isFirst = this.state === 'unknown';
    const now = asyncScheduler.now();
    if (!this.isSending && now - this.triedAt >= RETRY_TIME) {
      this.triedAt = now;
      this.post();
    }
    return isFirst;
  }

  /** Sends a line: at once if no other request is open, else with the next request. */
  send(line: string): void {
    const isFull = this.length + line.length > LONGEST_QUEUE;
    if (this.state === 'absent' || this.isRejected || isFull) return;
    this.queue.push(line);
    this.length += line.length + 1;
    if (!this.isSending) this.post();
  }

  private post(): void {
    this.isSending = true;
    const { token, source } = this;
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/x-ndjson',
      'rivulet-source': source,
    };
    const request = this.request ?? globalThis.fetch;
    // The lines of one task travel together.
    void Promise.resolve()
      .then(() => request(this.url, { method: 'POST', headers, body: this.takeBody() }))
      .then(
        (response) => this.answered(response.status),
        () => this.leave(), // nobody listens
      );
  }

  private takeBody(): string {
    let length = 0;
    const count = this.queue.findIndex((line) => (length += line.length + 1) > LONGEST_BODY);
    const lines = this.queue.splice(0, count < 0 ? this.queue.length : Math.max(1, count));
    const body = lines.map((line) => `${line}\n`).join('');
    this.length -= body.length;
    return body;
  }

  private answered(status: number): void {
    this.isSending = false;
    if (status === 401) {
      this.isRejected = true;
      this.leave();
      reportUnhandled(
        invalidAddress('The inspector rejected the token of its address.', 'It prints a new one at each start.'),
      );
      return;
    }
    if (status >= 300) {
      this.leave();
      return;
    }
    this.state = 'present';
    if (this.queue.length > 0) this.post();
  }

  private leave(): void {
    this.isSending = false;
    this.state = 'absent';
    this.queue = [];
    this.length = 0;
  }
}

const invalidAddress = (
  problem: string,
  nextStep = 'Pass what npx rivulet inspect prints: http://127.0.0.1:4983/#token.',
) => new ConfigurationError('options', problem, nextStep);

function parseAddress(address: string): { readonly url: string; readonly token: string } {
  const parsed = URL.canParse(address) ? new URL(address) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw invalidAddress('The address of the inspector is not a URL of HTTP.');
  if (!loopback.has(parsed.hostname))
    throw invalidAddress(`The inspector runs on this machine, and "${parsed.hostname}" is another one.`);
  const token = parsed.hash.slice(1);
  if (token === '') throw invalidAddress('The address of the inspector has no token.');
  parsed.hash = '';
  return { url: parsed.href, token };
}
