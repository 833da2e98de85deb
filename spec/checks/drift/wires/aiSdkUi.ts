import type { DriftWire } from '../compare.js';

const ai = "import('ai')";

const leftOut = [
  { reason: 'content of a provider without a meaning of its own', values: ['custom'] },
  { reason: 'no provider sends files within its thinking', values: ['reasoning-file'] },
];

export const aiSdkUi: DriftWire = {
  name: 'aiSdkUi',
  sdk: 'ai',
  files: ['service/uiChat'],
  unions: [
    { what: 'chunks', type: `${ai}.UIMessageChunk['type']`, leftOut },
    { what: 'parts of a message', type: `${ai}.UIMessage['parts'][number]['type']`, leftOut },
    {
      what: 'finish reasons',
      type: `${ai}.FinishReason`,
      leftOut: [{ reason: 'a stopped run sends `abort`', values: ['interrupted'] }],
    },
  ],
};
