import type { Observable } from 'rxjs';

/** The members of a process that a command uses. */
export interface Shell {
  readonly readFile: (path: string) => Promise<string>;
  readonly writeFile: (path: string, text: string) => Promise<void>;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether the output may have colors. */
  readonly hasColors: boolean;
  /** Each Ctrl-C. */
  readonly interrupts: Observable<unknown>;
}
