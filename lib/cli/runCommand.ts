import { errorText } from '../core/errors.js';
import { commands, usage } from './commands.js';
import { plainText } from '../core/plainText.js';
import type { Shell } from './shell.js';
import { isUsageError } from './usageError.js';

/** 1 after a failure, 2 for a command line that is not valid; otherwise the command's own: 130 after Ctrl-C. */
export function runCommand(line: readonly string[], shell: Shell): Promise<number> {
  const [name = 'help', ...args] = line;
  const options = line.includes('--') ? line.slice(0, line.indexOf('--')) : line;
  if (name === 'help' || options.includes('--help') || options.includes('-h')) {
    shell.write(usage);
    return Promise.resolve(0);
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    shell.writeError(plainText(`There is no command "${name}".\n\n${usage}`));
    return Promise.resolve(2);
  }
  const run = Promise.resolve().then(() => command(args, shell));
  return run.catch((thrown: unknown) => {
    shell.writeError(`${plainText(errorText(thrown))}\n`); // it may repeat a text of a file
    return isUsageError(thrown) ? 2 : 1;
  });
}
