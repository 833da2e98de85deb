import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

// The public types of each entry point, as a report in spec/project/api: a change of a type is seen in review.
// `npm run api` writes the reports; with --check, it fails if one is not up to date.

const check = process.argv.includes('--check');
const reports = resolve('spec/project/api');
const types = mkdtempSync(join(tmpdir(), 'rivulet-api-'));

interface Target {
  readonly import: { readonly types: string };
}

/** Writes the report of an entry point. Returns whether it was up to date. */
function report(entry: string, declarations: string): boolean {
  const name = entry === '.' ? 'rivulet' : entry.slice(2).replaceAll('/', '-');
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: process.cwd(),
      mainEntryPointFilePath: join(types, declarations.replace('./dist/esm/', '')),
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'ES2022',
            lib: ['ES2023', 'DOM'],
            module: 'NodeNext',
            skipLibCheck: true,
            strict: true,
            types: ['node'],
          },
          files: [join(types, declarations.replace('./dist/esm/', ''))],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: reports,
        reportTempFolder: join(types, 'reports'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: resolve('package.json'),
  });
  const { apiReportChanged, succeeded } = Extractor.invoke(config, {
    localBuild: !check,
    messageCallback(message) {
      if (message.logLevel !== ExtractorLogLevel.Error) message.handled = true;
    },
  });
  return succeeded && !(check && apiReportChanged);
}

try {
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', types], { stdio: 'inherit' });
  mkdirSync(reports, { recursive: true });
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, Target | string>;
  };
  const stale = Object.entries(exports).filter(
    ([entry, target]) => typeof target !== 'string' && !report(entry, target.import.types),
  );
  if (stale.length > 0) {
    process.stderr.write(
      `The public types of ${stale.map(([entry]) => entry).join(', ')} differ from spec/project/api. Run npm run api, and review the difference.\n`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(types, { recursive: true, force: true });
}
