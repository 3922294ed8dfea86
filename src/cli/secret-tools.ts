import type { Config } from '../config/options.ts'
import { type ListedSecret, listFolder } from '../keys/list-folder.ts'
import { SecretProblem } from '../keys/new-secret.ts'
import { loadSecretRing } from '../keys/secret-files.ts'
import { toSecretSource } from '../live-config/secret-rings.ts'

/** The secrets a server with this configuration would load. Empty: it would create a random one. */
export async function listSecrets(config: Config): Promise<readonly ListedSecret[]> {
  const source = toSecretSource(config)
  const load = await loadSecretRing(source)
  if (load.kind === 'refused') throw new SecretProblem(load.reason)
  if (load.source === 'folder' && source.folder) return listFolder(source.folder)
  const { key, sha256 } = load.ring.signing
  const name = load.source === 'keyfile' ? (source.keyfile ?? '') : 'server.jwt-secret'
  return load.source === 'random' ? [] : [{ name, use: 'active', kind: key.alg, sha256 }]
}
