/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/spec'],
  testMatch: ['**/*.spec.ts'],
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
export default config;
