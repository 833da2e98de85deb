import type { Tool } from 'rivulet';

/** The tools that run in this page. The service declares them too, without `execute`. */
export const browserTools: readonly Tool[] = [
  {
    name: 'local_time',
    description: "The user's time, time zone and language.",
    parameters: { type: 'object', properties: {} },
    execute: () => ({
      time: new Date().toLocaleString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      language: navigator.language,
    }),
  },
];
