/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

const shared: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/spec'],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/spec/bench/peers'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^rivulet$': '<rootDir>/lib/index.ts',
    '^rivulet/ai-sdk$': '<rootDir>/lib/providers/aiSdk/aiSdk.ts',
    '^rivulet/registry$': '<rootDir>/lib/registry/index.ts',
    '^rivulet/mcp$': '<rootDir>/lib/bridges/mcp/index.ts',
    '^rivulet/testing$': '<rootDir>/lib/testing/index.ts',
    '^rivulet/testing/server$': '<rootDir>/lib/testing/server/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  // Types are checked by `npm run types`: since jest 30.4 the ESM runtime does not report ts-jest's diagnostics.
  transform: { '^.+\\.ts$': ['ts-jest', { useESM: true, diagnostics: false }] },
};

const slow = '\\.slow\\.spec\\.ts$';

const config: Config = {
  maxWorkers: '100%',
  projects: [
    // `npm run specs`: everything that runs in one process, in virtual time or over loopback sockets.
    { ...shared, displayName: 'fast', testMatch: ['**/*.spec.ts'], testPathIgnorePatterns: [slow] },
    // `npm run specs:slow`: what starts processes, compiles, lints or replays streams at every cut.
    { ...shared, displayName: 'slow', testRegex: slow },
  ],
};
export default config;
