import { readdirSync, readFileSync } from 'node:fs';

/** The fields of a process from the third one on: state, parent ... */
const fieldsOf = (pid: string | number) => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
};

/**
 * The CPU microseconds of PostgreSQL, with its ended processes; NaN if it does not run on this machine.
 *
 * @param backend The process that serves a connection: `pg_backend_pid()`.
 */
export function postgresCpu(backend: number): number {
  try {
    const [, postmaster = 0] = fieldsOf(backend);
    const ticks = (fields: readonly number[], to: number) => fields.slice(11, to).reduce((sum, one) => sum + one, 0);
    let sum = ticks(fieldsOf(postmaster), 15);
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const fields = fieldsOf(pid);
        if (fields[1] === postmaster) sum += ticks(fields, 13);
      } catch {
        continue; // it has ended
      }
    }
    return sum * 10_000;
  } catch {
    return NaN;
  }
}
