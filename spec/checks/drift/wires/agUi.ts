import type { DriftWire } from '../compare.js';

const core = "import('@ag-ui/core')";

export const agUi: DriftWire = {
  name: 'agUi',
  sdk: '@ag-ui/core',
  files: ['agUi.ts', 'transport/agUi', 'service/agUi', 'chat/agUi'],
  unions: [
    {
      what: 'events',
      type: `\`\${${core}.EventType}\``,
      leftOut: [{ reason: 'signed thinking stays at the server', values: ['REASONING_ENCRYPTED_VALUE'] }],
    },
    { what: 'roles', type: `${core}.Role` },
    { what: 'parts of a message', type: `${core}.ContentPart['type']` },
    { what: 'outcomes of a run', type: `NonNullable<${core}.RunFinishedOutcome>['type']` },
  ],
};
