import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { aptInstall } from '../../support/aptInstall.js';

const places = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Finds Chromium. On Debian, root installs it. */
function findChromium(): string {
  const find = () => places.find((place) => place !== '' && existsSync(place));
  const found = find();
  if (found) return found;
  aptInstall('chromium');
  const installed = find();
  if (installed) return installed;
  throw new Error('There is no Chromium. Install it, or set CHROMIUM to the path of the program.');
}

/** Starts Chromium without a window. The flags keep it from asking the network for anything of its own. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findChromium(),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
