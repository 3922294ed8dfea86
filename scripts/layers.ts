/**
 * The import rules of `src/`. A folder imports only from folders with a lower number, types and values alike; folders
 * with the same number do not import each other. Files directly in `src/` are entry points and may import everything.
 */
export const LAYERS = {
  cli: 8,
  library: 8,
  wiring: 7,
  cluster: 6,
  dialects: 5,
  gateway: 5,
  'live-config': 5,
  kernel: 4,
  http: 3,
  auth: 3,
  store: 3,
  transfer: 3,
  directory: 2,
  keys: 1,
  passwords: 1,
  config: 1,
  observe: 1,
  base: 0,
}

/** Folders that only some of the folders above them may import. */
export const RESERVED = { config: ['live-config', 'wiring', 'cli'] }

/** Subfolders that never import each other. */
export const SEPARATE = [/^(dialects\/[^/]+)\//, /^(store\/(?:sqlite|postgres))\//]

/** Third-party packages and the files that may import each. */
export const PACKAGES = {
  commander: /^cli\//,
  '@clack/prompts': /^cli\//,
  pino: /^observe\//,
  '@opentelemetry/api': /^observe\/open-telemetry\.ts$/,
  '@opentelemetry/core': /^observe\/open-telemetry\.ts$/,
  '@opentelemetry/exporter-trace-otlp-http': /^observe\/open-telemetry\.ts$/,
  '@opentelemetry/resources': /^observe\/open-telemetry\.ts$/,
  '@opentelemetry/sdk-trace': /^observe\/open-telemetry\.ts$/,
  'lru-cache': /^(base|dialects|directory|auth|keys|passwords|gateway|http)\//,
  re2js: /^passwords\//,
  bcrypt: /^passwords\/schemes\//,
  'openid-client': /^auth\/provider-connections\.ts$/,
  undici: /^gateway\//,
  pg: /^store\/postgres\//,
}
