import { defer, mergeMap, tap, throwError, asyncScheduler, Observable, Subscription } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { callModelWrapper } from '../core/callWrapper.js';
import { deriveModel } from '../core/deriveModel.js';
import type { Model, ModelRequest } from '../core/model.js';
import { openResponse } from '../core/response.js';
import { requireGiven, requireNumbers, requireSync } from '../core/options.js';
import { RateLimitError } from '../core/rateLimitError.js';
import { createSemaphore } from '../core/semaphore.js';
import { estimateTokens } from '../core/tokens.js';
import { addUsage, validUsage, type Usage } from '../core/usage.js';

export interface LimiterOptions {
  /** The maximum number of requests in any period of 60 seconds. Default: Infinity. */
  readonly requestsPerMinute?: number | undefined;
  /** The maximum number of tokens, input and output, in any period of 60 seconds. Default: Infinity. */
  readonly tokensPerMinute?: number | undefined;
  /** The maximum number of requests at a time. Default: Infinity. */
  readonly concurrency?: number | undefined;
  /** Whether a request without room waits, or fails with a `RateLimitError`. Default: `wait`. */
  readonly whenFull?: 'wait' | 'fail' | undefined;
  /**
   * Estimates the tokens of a request; the reported usage replaces it. Default: `estimateTokens` of its messages, a
   * quarter of the characters of its tools' definitions, and `maxOutputTokens`.
   */
  readonly estimate?: ((request: ModelRequest) => number) | undefined;
}

/** A limit that models share. Create it with `createLimiter`. */
export interface Limiter {
  /**
   * Subscribes a stream when there is room for it.
   *
   * @param request The request of the stream, whose tokens are estimated.
   * @param chunks The stream. Its usage replaces the estimate.
   */
  admit(request: ModelRequest, chunks: Observable<Chunk>): Observable<Chunk>;
}

/**
 * Creates a limiter, for `limitModel`.
 *
 * The minute slides: in any period of 60 seconds, there are at most so many requests and tokens. Requests are admitted
 * in the order in which they arrive; a small one does not overtake a large one that waits. A request whose estimate
 * exceeds `tokensPerMinute` by itself is admitted when no request was sent for a minute.
 *
 * @param options `requestsPerMinute`, `tokensPerMinute`, `concurrency` (default: no limits), `whenFull` (default:
 * `wait`), `estimate` (default: a quarter of the characters).
 * @returns A limiter. It has state: use the same one in all runs that share the limit.
 * @throws ConfigurationError `options` if a limit is less than 1.
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { requestsPerMinute = Infinity, tokensPerMinute = Infinity, concurrency = Infinity } = options;
  const { whenFull = 'wait', estimate = estimateRequest } = options;
  requireNumbers({ requestsPerMinute, tokensPerMinute, concurrency }, 1);
  const semaphore = createSemaphore(concurrency);
  const window = new RateWindow(requestsPerMinute, tokensPerMinute);

  function fullError(tokens: number): RateLimitError | undefined {
    if (semaphore.isFull) return new RateLimitError('concurrency', concurrency);
    const reached = window.reached(tokens);
    if (!reached) return undefined;
    return new RateLimitError(
      reached.limit,
      reached.limit === 'requests' ? requestsPerMinute : tokensPerMinute,
      reached.wait,
    );
  }

  return {
    admit: (request, chunks) =>
      defer(() => {
        const tokens = requireSync('estimate', estimate(request));
        requireGiven('The estimate of tokens', tokens, 0);
        const error = whenFull === 'fail' ? fullError(tokens) : undefined;
        if (error) return throwError(() => error);
        return window.admit(tokens).pipe(
          mergeMap((admission) => chunks.pipe(correctTokens(window, admission))),
          semaphore.limit(),
        );
      }),
  };
}

/**
 * Makes a model that waits until a limiter has room for its request.
 *
 * <span class="informal">Many runs, one rate limit.</span>
 *
 * ![](../../marbles/limitModel.svg)
 *
 * All models that are made with the same limiter share its limits, in all runs. Unsubscribing a request that waits
 * gives up its place in the queue. A request counts from its start; its tokens are estimated, and corrected when the
 * model reports the usage. A request that fails without a usage keeps its estimate. What a model of a provider sends
 * again by itself, after a connection error or a status of 429 or 5xx, is not counted again.
 *
 * ```ts
 * const limiter = createLimiter({ requestsPerMinute: 500, tokensPerMinute: 30_000, concurrency: 10 });
 * const model = limitModel(openai('gpt-6.1-terra'), limiter);
 * from(questions).pipe(mergeMap((question) => createAgent({ model }).run(question)));
 * ```
 *
 * @param model The model. It may be left out.
 * @param limiter The limiter, from `createLimiter`.
 * @returns A model with the same name and capabilities. With `whenFull: 'fail'`, its streams fail with a
 * `RateLimitError` if there is no room; the error is retryable, and contains `retryAfter` if it is known. Without
 * `model`, a function of a model, for rxjs's `pipe`.
 */
export function limitModel(model: Model, limiter: Limiter): Model;
export function limitModel(limiter: Limiter): (model: Model) => Model;
export function limitModel(...args: readonly unknown[]) {
  return callModelWrapper(
    args,
    (limiter: Limiter) => (model) =>
      deriveModel(model, (request) =>
        limiter.admit(
          request,
          defer(() => openResponse(model, request)),
        ),
      ),
  );
}

function correctTokens(window: RateWindow, admission: Admission) {
  let usage: Usage | undefined; // including retracted attempts
  return tap<Chunk>((chunk) => {
    if (chunk.type !== 'finish' && chunk.type !== 'retract') return;
    usage = addUsage(usage, validUsage(chunk.usage));
    if (usage.total !== undefined) window.correct(admission, usage.total);
  });
}

function estimateRequest({ messages, tools, maxOutputTokens = 0 }: ModelRequest): number {
  const definitions = tools ? Math.ceil(JSON.stringify(tools).length / 4) : 0;
  return estimateTokens(messages) + definitions + maxOutputTokens;
}

const WINDOW = 60_000;

interface Admission {
  time: number;
  tokens: number;
}

interface Waiting {
  readonly tokens: number;
  readonly admit: (admission: Admission) => void;
}

/** Buckets that are refilled would allow up to twice as many requests in the first minute. */
class RateWindow {
  private readonly admissions: Admission[] = []; // of the last minute, oldest first
  private sum = 0; // of their tokens
  private readonly waiting = new Set<Waiting>(); // in the order of arrival
  private timer = Subscription.EMPTY;
  private isAdmitting = false;

  constructor(
    private readonly maxRequests: number,
    private readonly maxTokens: number,
  ) {}

  admit(tokens: number): Observable<Admission> {
    return new Observable((out) => {
      const waiting: Waiting = {
        tokens,
        admit(admission) {
          out.next(admission);
          out.complete();
        },
      };
      this.waiting.add(waiting);
      this.admitWaiting();
      return () => {
        if (this.waiting.delete(waiting)) this.admitWaiting();
      };
    });
  }

  correct(admission: Admission, tokens: number): void {
    this.removeExpired();
    if (isExpired(admission)) return;
    this.sum += tokens - admission.tokens;
    admission.tokens = tokens;
    this.admitWaiting();
  }

  reached(tokens: number): { readonly limit: 'requests' | 'tokens'; readonly wait: number } | undefined {
    this.removeExpired();
    let requests = this.admissions.length;
    let { sum } = this;
    const limit = requests >= this.maxRequests ? 'requests' : 'tokens';
    let wait = 0;
    for (const admission of this.admissions) {
      if (requests < this.maxRequests && sum + tokens <= this.maxTokens) break;
      // A request that exceeds the limit by itself is admitted when the window is empty.
      requests--;
      sum -= admission.tokens;
      wait = admission.time + WINDOW - asyncScheduler.now();
    }
    return wait > 0 ? { limit, wait } : undefined;
  }

  /** A loop: requests that end synchronously would otherwise admit one another inside their end. */
  private admitWaiting(): void {
    if (this.isAdmitting) return;
    this.isAdmitting = true;
    this.timer.unsubscribe();
    try {
      for (const waiting of this.waiting) {
        const reached = this.reached(waiting.tokens);
        if (reached) {
          this.timer = asyncScheduler.schedule(() => this.admitWaiting(), reached.wait);
          break;
        }
        this.waiting.delete(waiting);
        waiting.admit(this.add(waiting.tokens));
      }
    } finally {
      this.isAdmitting = false;
    }
  }

  private add(tokens: number): Admission {
    const admission = { time: asyncScheduler.now(), tokens };
    if (this.maxRequests === Infinity && this.maxTokens === Infinity) return admission; // nothing to count
    this.admissions.push(admission);
    this.sum += tokens;
    return admission;
  }

  private removeExpired(): void {
    // A clock that was set back: the newest request was admitted now at the latest.
    const ahead = (this.admissions.at(-1)?.time ?? 0) - asyncScheduler.now();
    if (ahead > 0) for (const admission of this.admissions) admission.time -= ahead;
    for (let oldest = this.admissions[0]; oldest && isExpired(oldest); oldest = this.admissions[0]) {
      this.admissions.shift();
      this.sum -= oldest.tokens;
    }
  }
}

const isExpired = ({ time }: Admission): boolean => time + WINDOW <= asyncScheduler.now();
