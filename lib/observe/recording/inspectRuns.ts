import { defer, asyncScheduler, timer } from 'rxjs';
import { agentOf, type Agent, type Input, type ResumeOptions, type RunOptions } from '../../agent/createAgent.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { innerAgentOf } from '../../core/innerAgent.js';
import type { Tool } from '../../core/tool.js';
import { recordRun, type RecordRunOptions } from './recordRun.js';
import { nanoid } from 'nanoid/non-secure';
import { reportUnhandled } from '../../core/reportUnhandled.js';
import { optionsError } from '../../core/errors.js';
import type { EndEntry } from './entries.js';

/** Options of `inspectRuns`. */
export interface InspectOptions extends RecordRunOptions {
  /** Makes the requests to the inspector. Default: the global `fetch`, looked up at each request. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * An agent whose runs are shown by `npx rivulet inspect`, as they happen.
 *
 * <span class="informal">The network tab of a browser, for the runs of an agent.</span>
 *
 * `npx rivulet inspect` opens a page on this machine, and prints its address with a token. With this address, the runs
 * of an agent appear on the page. As long as no inspector answers at the address, nothing of a run is observed or
 * copied: the agent's Observable is returned as it is. Once it answers, runs are recorded as by `recordRun`, without
 * secrets, and sent over the loopback interface.
 *
 * The first runs of a process are recorded until the inspector has answered or refused the connection. After that, a
 * run that starts asks for the inspector at most every two seconds, and runs are recorded once it has answered.
 *
 * ```ts
 * const agent = inspectRuns(createAgent({ model, tools }), process.env.INSPECTOR);
 * ```
 *
 * @param agent The agent.
 * @param address What `npx rivulet inspect` printed: `http://127.0.0.1:4983/#token`. `undefined` returns the agent
 * itself.
 * @param options The options of `recordRun`: `name`, `content`, `secrets`, `maxLength`, `maxLineLength`; and `fetch`
 * (default: the global one).
 * @returns An agent of the same type.
 * @throws ConfigurationError `options` if the address has no token or is not one of this machine (`127.0.0.1`,
 * `localhost`, `[::1]`). An address whose token is wrong is reported as an unhandled error, once.
 */
export function inspectRuns<T extends readonly Tool[], O, C>(
  agent: Agent<T, O, C>,
  address: string | undefined,
  options: InspectOptions = {},
): Agent<T, O, C> {
  if (address === undefined) return agent;
  const link = new InspectorLink(address, options);
  const untyped = agent as unknown as Agent;
  const recorded = recordRun(untyped, (line) => link.send(line), options);
  // `defer` subscribes with the subscriber itself: events cost nothing more, while `observeRun` costs 3 to 8 % (npm
  // run bench).
  const chosen = () => (link.isWanted() ? recorded : untyped);
  return agentOf(
    (input: Input, runOptions?: RunOptions) => defer(() => chosen().stream(input, runOptions)),
    (checkpoint: Checkpoint, runOptions?: ResumeOptions) => defer(() => chosen().resume(checkpoint, runOptions)),
    innerAgentOf(agent),
  );
}

const RETRY_TIME = 2000;

/** In characters. What exceeds it is not sent. */
const LONGEST_QUEUE = 8_388_608;

/** In characters. The inspector accepts twice as much. */
const LONGEST_BODY = 2_097_152;

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

type State = 'unknown' | 'absent' | 'present';

/** Milliseconds until a request without an answer is aborted. */
const ANSWER_TIME = 5000;

class InspectorLink {
  private readonly url: string;
  private readonly token: string;
  private readonly source = nanoid();
  private state: State = 'unknown';
  private triedAt = -Infinity;
  private isSending = false;
  private isRejected = false;
  private queue: string[] = [];
  private length = 0;
  private readonly dropped = new Map<number, number>();
  private readonly request: typeof fetch | undefined;

  constructor(address: string, { fetch: request }: { readonly fetch?: typeof fetch | undefined }) {
    const { url, token } = parseAddress(address);
    this.url = `${url}api/entries`;
    this.token = token;
    this.request = request;
  }

  /** Asks for the inspector if it is not known whether it listens. */
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

  send(line: string): void {
    if (this.state === 'absent' || this.isRejected) return;
    // The ends of a run are short and few: with them, the inspector does not show it as running.
    const isEnd = /^\{"type":"(?:end|requestEnd)"/.test(line);
    const run = runOf(line);
    if (!isEnd && this.length + line.length > LONGEST_QUEUE) {
      this.dropped.set(run, (this.dropped.get(run) ?? 0) + 1);
      return;
    }
    const sent = isEnd ? this.noteDropped(run, line) : line;
    this.queue.push(sent);
    this.length += sent.length + 1;
    if (!this.isSending) this.post();
  }

  /** The end says how many entries are missing. */
  private noteDropped(run: number, line: string): string {
    const count = this.dropped.get(run);
    if (count === undefined || !line.startsWith('{"type":"end"')) return line;
    this.dropped.delete(run);
    const end = JSON.parse(line) as EndEntry;
    return JSON.stringify({ ...end, dropped: (end.dropped ?? 0) + count });
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
    const controller = new AbortController();
    const { signal } = controller;
    const late = timer(ANSWER_TIME).subscribe({ next: () => controller.abort(), error: reportUnhandled });
    // The lines of one task travel together. Whatever listens at the port could redirect them to another host.
    void Promise.resolve()
      .then(() => request(this.url, { method: 'POST', headers, body: this.takeBody(), redirect: 'error', signal }))
      .then(
        (response) => {
          late.unsubscribe();
          this.answered(response.status);
        },
        () => {
          late.unsubscribe();
          this.leave();
        },
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
    this.dropped.clear();
  }
}

/** The number is written before the values. */
const runOf = (line: string): number => Number(/"run":(\d+)/.exec(line)?.[1] ?? 0);

const invalidAddress = (
  problem: string,
  nextStep = 'Pass what npx rivulet inspect prints: http://127.0.0.1:4983/#token.',
) => optionsError(problem, nextStep);

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
