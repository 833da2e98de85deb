import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { firstValueFrom, Subject, timer } from 'rxjs';

/** A process of the service, and what it has said of itself: a worker its executor id, a front its URL. */
export interface Member {
  readonly process: ChildProcess;
  readonly name: string;
}

/** Starts processes of one kind, and starts one again when it has ended, as the supervisor of a service does. */
export function supervise(script: string, argsOf: (index: number) => readonly string[]) {
  const members: Member[] = [];
  const processes = new Set<ChildProcess>();
  const started = new Subject<void>();
  let isClosing = false;
  let count = 0;
  let losses = 0;
  /** Resolves when the process is ready, or one after it. */
  const start = (index = count++) =>
    new Promise<void>((resolve) => {
      const process = fork(script, argsOf(index), {
        // DBOS causes a deprecation warning of `pg` in each process.
        execArgv: ['--import', 'tsx', '--disable-warning=DeprecationWarning'],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      processes.add(process);
      process.once('message', (name: string) => {
        members.push({ process, name });
        started.next();
        resolve();
      });
      process.once('exit', (code) => {
        processes.delete(process);
        if (!isClosing && code !== null) losses += 1;
        const place = members.findIndex((member) => member.process === process);
        if (place >= 0) members.splice(place, 1);
        if (!isClosing) timer(300).subscribe(() => void start(index).then(resolve));
      });
    });
  return {
    /** The processes that are ready. */
    members: members as readonly Member[],
    /** How many processes have ended by themselves, without a signal. */
    losses: () => losses,
    start: () => start(),
    /** Kills a process. Resolves when another one is ready. */
    kill({ process }: Member): Promise<void> {
      const restarted = firstValueFrom(started);
      process.kill('SIGKILL');
      return restarted;
    },
    close(): void {
      isClosing = true;
      for (const process of processes) process.kill('SIGKILL');
    },
  };
}
