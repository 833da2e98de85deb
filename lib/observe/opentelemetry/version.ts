/** The version of the package, which OpenTelemetry records as `instrumentationScope.version`. A spec compares it. */
export const version = '0.1.0';
