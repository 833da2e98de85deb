import { lastValueFrom, tap } from 'rxjs';
import { errorText } from '../../core/errors.js';
import type { RunEvent } from '../../core/event.js';
import type { Agent } from '../../agent/createAgent.js';
import { EventPrinter, plainText } from '../eventPrinter.js';
import type { Shell } from '../shell.js';

/** JSON escapes the other characters that control a terminal. */
const escapeControl = (character: string) => `\\u00${character.charCodeAt(0).toString(16)}`;

/** Nothing but the answer is written to the output, with `json` one line per event; the rest as errors. */
export function askOnce(agent: Agent, prompt: string, json: boolean, shell: Shell): Promise<number> {
  let code = 0;
  let lastText = '\n';
  const notes = new EventPrinter(shell.hasColors);
  const writeText = (text: string) => {
    if (text === '') return;
    lastText = text;
    shell.write(text);
  };
  const write = (event: RunEvent) => {
    if (json) shell.write(`${JSON.stringify(event).replaceAll(/[\u007f-\u009f]/g, escapeControl)}\n`);
    else if (event.type === 'text') writeText(shell.stdout.isTTY ? plainText(event.text) : event.text);
    else if (event.type !== 'result') shell.writeError(notes.print(event));
  };
  const stop = shell.interrupts.pipe(tap(() => (code = 130)));
  return lastValueFrom(agent.stream(prompt, { stop }).pipe(tap(write)), { defaultValue: undefined }).then(
    () => {
      if (!json && !lastText.endsWith('\n')) shell.write('\n');
      return code;
    },
    (thrown: unknown) => {
      shell.writeError(notes.line(`failed: ${errorText(thrown)}`, 'red'));
      return 1;
    },
  );
}
