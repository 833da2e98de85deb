import type { Observable } from 'rxjs';

/** `process.stdin`, or a stream that stands in for it. */
export type Stdin = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

/** `process.stdout` or `process.stderr`, or a stream that stands in for it. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

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
  readonly stdin: Stdin;
  readonly stdout: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}
