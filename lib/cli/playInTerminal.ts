import { concat, defer, lastValueFrom, map, of, takeUntil, tap } from 'rxjs';
import { errorText } from '../core/errors.js';
import { messageText } from '../core/message.js';
import type { RunRecording } from '../observe/recording/readRecording.js';
import { replayEvents, runOf } from '../observe/recording/replay.js';
import type { ReplayOptions } from '../observe/recording/timeline.js';
import { EventPrinter, plainText } from './eventPrinter.js';
import type { Shell } from './shell.js';

/** Plays a recorded run at the times at which it was recorded. The exit code is 130 after Ctrl-C. */
export function playInTerminal(recording: RunRecording, options: ReplayOptions, shell: Shell): Promise<number> {
  const { start, end } = runOf(recording, options);
  const printer = new EventPrinter(shell.hasColors);
  const input = plainText((start.input ?? []).map(messageText).join('\n'));
  let code = 0;
  const texts = concat(
    of(input === '' ? '' : `> ${input}\n`),
    replayEvents(recording, options).pipe(map((event) => printer.print(event))),
    defer(() => of(printer.line(end?.outcome === 'unsubscribed' ? 'unsubscribed' : ''))),
  );
  const interrupted = shell.interrupts.pipe(tap(() => (code = 130)));
  return lastValueFrom(texts.pipe(tap(shell.write), takeUntil(interrupted)), { defaultValue: '' }).then(
    () => code,
    (thrown: unknown) => {
      shell.write(printer.line(`failed: ${plainText(errorText(thrown))}`, 'red'));
      return 1;
    },
  );
}
