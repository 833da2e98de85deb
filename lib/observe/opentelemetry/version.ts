/** OpenTelemetry's `instrumentationScope.version`. A spec compares it. */
export const version = '0.1.0';
