import { asyncScheduler, Observable, Subscription } from 'rxjs';

const WINDOW = 60_000;

export interface Admission {
  time: number;
  /** First an estimate, then what the provider reported. */
  tokens: number;
}

interface Waiting {
  readonly tokens: number;
  readonly admit: (admission: Admission) => void;
}

/** Buckets that are refilled would allow up to twice as many requests in the first minute. */
export class RateWindow {
  private readonly admissions: Admission[] = []; // of the last minute, oldest first
  private sum = 0; // of their tokens
  private readonly waiting = new Set<Waiting>(); // in the order of arrival
  private timer = Subscription.EMPTY;
  private isAdmitting = false;

  constructor(
    private readonly maxRequests: number,
    private readonly maxTokens: number,
  ) {}

  /** Emits when there is room for the request. Unsubscribing a request that waits removes it. */
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

  /** The limit that a request would exceed, and the time until there is room. Undefined if there is room. */
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
