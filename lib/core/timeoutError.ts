import { RivuletError } from './errors.js';
import type { Fields } from './json/json.js';

const timeoutTexts = {
  connect: (limit: number) =>
    `The server sent no headers within ${limit} ms. Raise or omit timeout.connect: some servers send them with the ` +
    'first content.',
  first: (limit: number) =>
    `The model did not begin to respond within ${limit} ms. Raise or omit timeout.first: reasoning models can take ` +
    'minutes.',
  body: (limit: number) =>
    `The model sent headers, and then nothing for ${limit} ms. Raise timeout.body to let it think.`,
  each: (limit: number) =>
    `The model sent nothing for ${limit} ms in the middle of its response. Raise timeout.each if that is expected.`,
  turn: (limit: number) => `The turn did not end within ${limit} ms. Raise or omit timeout.turn.`,
  tool: (limit: number) => `The tool did not finish within ${limit} ms.`,
  run: (limit: number) => `The run did not end within ${limit} ms. Raise or omit timeout.run.`,
};

/** Something took longer than an option allows: `phase` names the limit. */
export class TimeoutError extends RivuletError {
  override readonly name = 'TimeoutError';
  readonly code = 'timeout';
  override readonly isPublic = true;
  /** Whether the request is sent again: as long as nothing was emitted. `retryModel` also starts over after `each`. */
  declare readonly retryable: boolean;

  /**
   * `connect`: no headers in time; `first`: no content; `body`: nothing after the headers; `each`: a silence within the
   * response; `turn`, `tool`, `run`: these did not end in time.
   */
  constructor(
    readonly phase: keyof typeof timeoutTexts,
    readonly milliseconds: number,
  ) {
    super(timeoutTexts[phase](milliseconds));
    Object.assign(this, { retryable: phase === 'connect' || phase === 'first' || phase === 'body' });
  }

  protected override details(): Fields {
    return { phase: this.phase, milliseconds: this.milliseconds };
  }
}

export type TimeoutPhase = TimeoutError['phase'];
