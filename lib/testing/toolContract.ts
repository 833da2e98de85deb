import { concat, defer, filter, firstValueFrom, from, NEVER, Subject, tap, throwError, timeout } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../agent/createAgent.js';
import { throwUnhandled } from '../core/createOperator.js';
import { asKnownEvent, isToolResult } from '../core/eventGuards.js';
import type { CallAnswers } from '../core/approval.js';
import type { StreamEvent } from '../core/event.js';
import type { JsonObject, JsonValue } from '../core/json/json.js';
import { innermost } from '../core/nested.js';
import type { Tool, ToolContext } from '../core/tool.js';
import type { PortContractCase } from './portContract.js';
import { toolCall } from './script.js';
import { scriptedModel } from './scriptedModel.js';
import { requireNumber } from '../core/options.js';
import type { Plain } from '../core/typesOf.js';

/** Options of `toolContract`. */
export interface ToolContractOptions {
  /** Arguments of a call that succeeds. */
  readonly arguments: JsonObject;
  /** Arguments that the schema of the tool rejects. Default: none; the case is left out. */
  readonly invalidArguments?: JsonObject;
  /** The answers to the questions of an `askTool`, by their keys. Default: a tool that asks breaks the contract. */
  readonly answers?: Readonly<Record<string, JsonValue>>;
  /**
   * Returns how many resources the tool holds, such as open connections, timers or subscriptions. Default: none; the
   * cases about them are left out.
   */
  readonly held?: () => number;
  /** The longest time that a call may take, and that a cancelled call may take to settle. Default: 5,000 ms. */
  readonly within?: number;
}

/**
 * Returns the checks that a tool must pass, one test case each: it settles, it can be cancelled, and it leaks nothing.
 *
 * <span class="informal">Run them in the spec of your own tool, with any test runner.</span>
 *
 * Each case runs the tool as an agent does: its arguments are validated, its result must be JSON, and it is cancelled
 * by unsubscribing it and by its signal.
 *
 * - a call settles with a result, once;
 * - a call with invalid arguments is not executed (`invalidArguments`);
 * - two calls at the same time do not disturb each other;
 * - a call that is cancelled settles, and reports nothing more;
 * - a call holds nothing after its end, and after it was cancelled (`held`).
 *
 * ```ts
 * const cases = toolContract(() => search, { arguments: { text: 'Oslo' }, held: () => server.connections });
 * it.each(cases)('search $title', ({ run }) => run());
 * ```
 *
 * @param create Returns the tool.
 * @param options `arguments`; `invalidArguments` and `held` (default: their cases are left out), `answers` (default:
 * none), `within` (default: 5,000 ms).
 * @returns The cases. Each rejects with an Error that says what was expected and what happened.
 */
export function toolContract(create: () => Tool, options: ToolContractOptions): readonly Plain<PortContractCase>[] {
  const { invalidArguments, held } = options;
  requireNumber('within', options.within, 0);
  const check = (title: string, run: (use: ToolUse) => Promise<void>): PortContractCase => ({
    title,
    run: () => run(new ToolUse(create(), options)),
  });
  return [
    check('settles with a result', (use) => use.call([options.arguments]).then(requireResults)),
    check('keeps two calls at the same time apart', (use) =>
      use.call([options.arguments, options.arguments]).then(requireResults),
    ),
    check('settles when it is cancelled, and reports nothing more', (use) => use.cancel()),
    ...(invalidArguments
      ? [check('is not executed with invalid arguments', (use) => use.call([invalidArguments]).then(requireRejection))]
      : []),
    ...(held
      ? [
          check('holds nothing after its end', (use) =>
            use.call([options.arguments]).then(() => use.requireNothingHeld()),
          ),
          check('holds nothing after it was cancelled', (use) => use.cancel().then(() => use.requireNothingHeld())),
        ]
      : []),
  ];
}

interface Answer {
  readonly error?: string | undefined;
  readonly code?: string | undefined;
}

const broken = (problem: string) => new Error(`The tool breaks its contract: ${problem}.`);

function requireResults(answers: readonly Answer[]): void {
  for (const { error } of answers) if (error !== undefined) throw broken(`a call failed: ${error}`);
}

function requireRejection([answer]: readonly Answer[]): void {
  if (answer?.code !== 'invalid_arguments') throw broken('a call with invalid arguments was executed');
}

class ToolUse {
  private readonly before: number;
  private readonly within: number;
  /** The Promise of `execute`. Other outputs end with their subscription. */
  private settled: Promise<unknown> = Promise.resolve();
  private started: () => void = () => undefined;
  private isCancelled = false;
  private isLate = false;

  constructor(
    private readonly tool: Tool,
    private readonly options: ToolContractOptions,
  ) {
    this.before = options.held?.() ?? 0;
    this.within = options.within ?? 5_000;
  }

  async call(calls: readonly JsonObject[]): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    const given = new Subject<CallAnswers>();
    const run = this.run(calls, given).pipe(
      tap((event) => {
        if (isToolResult(event)) answers.push(event);
        given.next(this.answerTo(event));
      }),
      filter((event) => asKnownEvent(event).type === 'result'),
    );
    await this.first(run, 'a call did not settle');
    if (answers.length !== calls.length) throw broken(`${calls.length} calls had ${answers.length} results`);
    return answers;
  }

  async cancel(): Promise<void> {
    const running = new Promise<void>((resolve) => (this.started = resolve));
    const subscription = this.run([this.options.arguments]).subscribe({ error: throwUnhandled });
    await this.first(from(running), 'a call did not start');
    subscription.unsubscribe();
    this.isCancelled = true;
    const settled = defer(() =>
      this.settled.then(
        () => true,
        () => true,
      ),
    );
    await this.first(settled, 'a call that was cancelled did not settle');
    if (this.isLate) throw broken('a call reported progress after it was cancelled');
  }

  requireNothingHeld(): Promise<void> {
    const held = this.options.held?.() ?? 0;
    return held <= this.before
      ? Promise.resolve()
      : Promise.reject(broken(`it holds ${held} resources, and held ${this.before} before`));
  }

  private run(calls: readonly JsonObject[], answers: Observable<CallAnswers> = NEVER) {
    const requested = calls.map((args) => toolCall(this.tool.name, args));
    const model = scriptedModel([requested, 'done']);
    const { needsApproval: _, ...tool } = this.tool;
    const watched: Tool = { ...tool, execute: (args, context) => this.execute(args, context) };
    return createAgent({ model, tools: [watched], toolConcurrency: Infinity }).stream('Go on.', { answers });
  }

  private answerTo(event: StreamEvent): CallAnswers {
    const { answers = {} } = this.options;
    const asked = innermost(event);
    if (asked.type !== 'toolWaiting' || !asked.question) return {};
    const key = asked.id.slice(asked.id.indexOf('/') + 1);
    if (!Object.hasOwn(answers, key)) throw broken(`it asks "${asked.question.message}" (key ${key})`);
    return { results: { [asked.id]: answers[key] ?? null } };
  }

  private execute(args: unknown, context: Parameters<NonNullable<Tool['execute']>>[1]): unknown {
    const progress: ToolContext['progress'] = (value) => {
      this.isLate ||= this.isCancelled;
      context.progress(value);
    };
    const output: unknown = this.tool.execute?.(args, { ...context, progress });
    this.started();
    if (output instanceof Promise) this.settled = output;
    return output;
  }

  private first<T>(events: Observable<T>, problem: string): Promise<T> {
    const late = throwError(() => broken(`${problem} within ${this.within} ms`));
    // eslint-disable-next-line rxjs-x/no-ignored-default-value -- NEVER follows
    return firstValueFrom(concat(events, NEVER).pipe(timeout({ first: this.within, with: () => late })));
  }
}
