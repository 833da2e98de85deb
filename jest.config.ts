/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

const shared: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/spec'],
  modulePathIgnorePatterns: [
    '<rootDir>/dist',
    '<rootDir>/spec/checks/bench/peers',
    '<rootDir>/spec/checks/(browser|drift|guides)/node_modules',
    '<rootDir>/spec/service/agUi/client',
    '<rootDir>/spec/chat/angular/client',
    '<rootDir>/spec/service/uiChat/client',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^rivulet$': '<rootDir>/lib/index.ts',
    '^rivulet/openai$': '<rootDir>/lib/providers/openaiResponses/index.ts',
    '^rivulet/anthropic$': '<rootDir>/lib/providers/anthropic/index.ts',
    '^rivulet/google$': '<rootDir>/lib/providers/google/index.ts',
    '^rivulet/provider$': '<rootDir>/lib/providers/kit.ts',
    '^rivulet/ai-sdk$': '<rootDir>/lib/providers/aiSdk/aiSdk.ts',
    '^rivulet/registry$': '<rootDir>/lib/providers/registry/index.ts',
    '^rivulet/ai-sdk-ui$': '<rootDir>/lib/service/uiChat/index.ts',
    '^rivulet/mcp$': '<rootDir>/lib/tools/mcp/index.ts',
    '^rivulet/angular$': '<rootDir>/lib/chat/angular/index.ts',
    '^rivulet/ag-ui$': '<rootDir>/lib/agUi.ts',
    '^rivulet/opentelemetry$': '<rootDir>/lib/observe/opentelemetry/index.ts',
    '^rivulet/service$': '<rootDir>/lib/service/index.ts',
    '^rivulet/chat$': '<rootDir>/lib/chat/index.ts',
    '^rivulet/recording$': '<rootDir>/lib/observe/recording/index.ts',
    '^rivulet/postgres$': '<rootDir>/lib/service/stores/postgres/index.ts',
    '^rivulet/dbos$': '<rootDir>/lib/service/stores/dbos/index.ts',
    '^rivulet/redis$': '<rootDir>/lib/service/stores/redis/index.ts',
    '^rivulet/testing$': '<rootDir>/lib/testing/index.ts',
    '^rivulet/testing/server$': '<rootDir>/lib/testing/server/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: { '^.+\\.ts$': 'ts-jest' },
};

const slow = '\\.slow\\.spec\\.ts$';
const database = '\\.database\\.spec\\.ts$';

const config: Config = {
  maxWorkers: '100%',
  // Jest does not free the modules of a spec. Each collection of 1 GB of them takes 1.4 s, which the specs of costs would measure:
  // `heap.slow.spec.ts` took 105 s after others, and 5 s alone.
  workerIdleMemoryLimit: '600MB',
  // A busy machine takes its time to end a process without a leak.
  workerGracefulExitTimeout: 10_000,
  // A guard against a test that never ends: no other test may take this long, also on a busy machine.
  testTimeout: 300_000,
  projects: [
    // `npm run specs`: specs in virtual time or over loopback sockets. Those of a room share a process and their modules;
    // `*.alone.spec.ts` are for what would change others: mocks of modules, patches of global classes.
    {
      ...shared,
      displayName: 'fast',
      runner: '<rootDir>/spec/support/suiteRunner.ts',
      testRunner: '<rootDir>/spec/support/suiteFramework.ts',
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: [slow, database],
    },
    // `npm run specs:slow`: specs that start processes, compile, lint or replay streams at every cut.
    { ...shared, displayName: 'slow', testRegex: slow },
    // `npm run specs:databases`: specs that start database servers.
    { ...shared, displayName: 'databases', testRegex: database },
  ],
};
export default config;
