import { RivuletError } from './errors.js';
import type { Fields } from './json/json.js';

/** What did not happen in time, and what to do. */
const timeoutTexts = {
  connect: [
    'The server sent no headers',
    ' Raise or omit timeout.connect: some servers send them with the first content.',
  ],
  first: ['The model did not begin to respond', ' Raise or omit timeout.first: reasoning models can take minutes.'],
  body: ['The model sent nothing after its headers', ' Raise timeout.body to let it think.'],
  each: ['The model sent nothing more in its response', ' Raise timeout.each if that is expected.'],
  turn: ['The turn did not end', ' Raise or omit timeout.turn.'],
  tool: ['The tool did not finish', ''],
  run: ['The run did not end', ' Raise or omit timeout.run.'],
} as const;

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
    const [what, remedy] = timeoutTexts[phase];
    super(`${what} within ${milliseconds} ms.${remedy}`);
    Object.assign(this, { retryable: phase === 'connect' || phase === 'first' || phase === 'body' });
  }

  protected override details(): Fields {
    return { phase: this.phase, milliseconds: this.milliseconds };
  }
}

export type TimeoutPhase = TimeoutError['phase'];
