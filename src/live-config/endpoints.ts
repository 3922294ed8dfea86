// The addresses of the listeners, with the certificates that the options name.
import type { Config } from '../config/options.ts'
import type { Endpoint, TlsFiles } from '../http/server.ts'
import { loadTlsFiles, type NamedFile } from '../http/tls-files.ts'
import { StartError } from './start-error.ts'

export function toDocumentEndpoints({ chttpd, ssl }: Config): readonly Endpoint[] {
  const host = chttpd.bind_address === 'any' ? '::' : chttpd.bind_address
  const plain: Endpoint[] = chttpd.port === 'none' ? [] : [{ kind: 'tcp', host, port: chttpd.port }]
  if (!ssl.enable || ssl.port === 'none') return plain
  return [
    ...plain,
    {
      kind: 'tcp',
      host,
      port: ssl.port,
      tls: loadTls({ option: 'ssl.cert_file', path: ssl.cert_file }, { option: 'ssl.key_file', path: ssl.key_file }),
    },
  ]
}

export const toMultiModelEndpoints = (config: Config): readonly Endpoint[] =>
  toEndpoints(config.server.endpoint, config)

export const toMetricsEndpoints = (config: Config): readonly Endpoint[] => toEndpoints(config.metrics.endpoint, config)

export const toAdminEndpoints = (config: Config): readonly Endpoint[] => toEndpoints(config.admin.endpoint, config)

function toEndpoints(given: Config['server']['endpoint'], { ssl }: Config): readonly Endpoint[] {
  const file = { option: 'ssl.keyfile', path: ssl.keyfile }
  return given.map((endpoint): Endpoint => {
    if (endpoint.kind === 'unix') return endpoint
    const { host, port } = endpoint
    return { kind: 'tcp', host, port, ...(endpoint.kind === 'ssl' ? { tls: loadTls(file, file) } : {}) }
  })
}

function loadTls(cert: NamedFile, key: NamedFile): TlsFiles {
  const load = loadTlsFiles(cert, key)
  if (load.kind === 'problem') throw new StartError(load.message)
  return load.files
}
