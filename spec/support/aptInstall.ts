import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Installs a package of Debian, if this process is root on such a system. Otherwise it does nothing. */
export function aptInstall(name: string): void {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  const apt = (...args: readonly string[]) =>
    execFileSync('apt-get', ['-qq', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  apt('update');
  apt('install', '-y', '--no-install-recommends', name);
}
