import type { Observable } from 'rxjs';

export type Stdin = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The exit code after SIGTERM. */
export const TERMINATED = 143;

export interface Shell {
  readonly readFile: (path: string) => Promise<string>;
  /**
   * `isNew`: fails with the code `EEXIST` if there is such a file. `isPrivate`: only the user may read a new file.
   */
  readonly writeFile: (
    path: string,
    text: string,
    options?: { readonly isNew?: boolean; readonly isPrivate?: boolean },
  ) => Promise<void>;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  readonly hasColors: boolean;
  readonly hasErrorColors: boolean;
  readonly interrupts: Observable<unknown>;
  /** The process is asked to end (SIGTERM). */
  readonly terminations: Observable<unknown>;
  readonly stdin: Stdin;
  readonly stdout: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}
