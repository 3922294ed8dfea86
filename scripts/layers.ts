/**
 * The import rules of `src/`. A folder imports only from folders with a lower number, types and values alike; folders
 * with the same number do not import each other. Files directly in `src/` are entry points and may import everything.
 * `modules.ts` and `module-options.ts` are not: the folders above `modules` import them, and only they name the modules.
 */
export const LAYERS = {
  cli: 8,
  library: 8,
  wiring: 7,
  modules: 6,
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
export const RESERVED = { config: ['live-config', 'modules', 'wiring', 'cli'] }

/** Subfolders that never import each other. */
export const SEPARATE = [/^(dialects\/[^/]+)\//, /^(store\/(?:sqlite|postgres))\//]

export const MODULE_LISTS = ['modules.ts', 'module-options.ts']
const MODULE_FILE = /^modules\/([^/]+)\//

/** Every command loads it, so it imports nothing that is heavier. */
export const OPTIONS_FILE = /^modules\/[^/]+\/options\.ts$/

export const moduleOf = (file: string): string | undefined => MODULE_FILE.exec(file)?.[1]

const NEEDS = /\bneeds: \[([^\]]*)\]/

/** The folders of the modules that the manifest of a module names. */
export const readNeeds = (manifest: string): readonly string[] =>
  [...(NEEDS.exec(manifest)?.[1] ?? '').matchAll(/\w+/g)].map(([name]) =>
    name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
  )

/** Third-party packages and the files that may import each. */
export const PACKAGES = {
  commander: /^cli\//,
  '@clack/prompts': /^cli\//,
  pino: /^observe\//,
  '@opentelemetry/api': /^modules\/tracing\/open-telemetry\.ts$/,
  '@opentelemetry/core': /^modules\/tracing\/open-telemetry\.ts$/,
  '@opentelemetry/exporter-trace-otlp-http': /^modules\/tracing\/open-telemetry\.ts$/,
  '@opentelemetry/resources': /^modules\/tracing\/open-telemetry\.ts$/,
  '@opentelemetry/sdk-trace': /^modules\/tracing\/open-telemetry\.ts$/,
  'lru-cache': /^(base|dialects|directory|auth|keys|passwords|gateway|http)\//,
  re2js: /^passwords\//,
  bcrypt: /^passwords\/schemes\//,
  '@simplewebauthn/server': /^modules\/passkeys\/verify\.ts$/,
  'openid-client': /^modules\/providers\/connections\.ts$/,
  uqr: /^modules\/livesync\/commands\.ts$/,
  nodemailer: /^modules\/mail\/send\.ts$/,
  undici: /^gateway\//,
  pg: /^store\/postgres\//,
}

/**
 * What Node does not document is used in one folder, where it is looked for at the start and has another way
 * (base/node-internals/probes.ts).
 */
export const INTERNALS_FOLDER = /^base\/node-internals\//
export const INTERNALS = {
  'a member of Node that begins with an underscore': /(?<!\bdoc|\bold)\._[a-z]|Reflect\.[gs]et\(\w+, '_/,
  'a symbol of Node': /\bgetOwnPropertySymbols\b/,
  'a module or flag within Node': /\bprocess\.binding\b|\binternalBinding\b|node:internal|\bsetFlagsFromString\b/,
  'a method of an object of Node that is replaced':
    /\b(socket|server|request|response|session|stream)\.\w+ = (async )?(function\b|\w+ =>|\([^)]*\)(: [^=]+)? =>)/,
}
