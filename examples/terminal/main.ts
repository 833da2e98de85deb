import { fromEvent, merge } from 'rxjs';
import { runProgram } from './program.js';

const { argv, stdin, stdout, stderr, env } = process;

// The reader of the output may leave early, as `head` does.
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runProgram(argv.slice(2), {
  stdin,
  stdout,
  stderr,
  env,
  interrupts: fromEvent(process, 'SIGINT'),
  ends: merge(fromEvent(process, 'SIGTERM'), fromEvent(process, 'SIGHUP')),
  exit: (code) => process.exit(code),
});
