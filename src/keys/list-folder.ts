import { digestHex } from '../base/encoding.ts'
import type { SecretKind } from './new-secret.ts'
import { readSecretFile, type Secret, trim } from './secret.ts'
import { listSecretFiles, loadSmallFile } from './secret-folder.ts'

export interface ListedSecret {
  /** Name of the file or of the option. */
  readonly name: string
  /** `active` signs and verifies, `passive` only verifies, `unused` does neither. */
  readonly use: 'active' | 'passive' | 'unused'
  readonly kind: SecretKind | undefined
  readonly sha256: string
}

/** Every file of a folder of secrets, in the order in which they are used. */
export async function listFolder(folder: string): Promise<readonly ListedSecret[]> {
  const { files } = await listSecretFiles(folder)
  const listed: ListedSecret[] = []
  for (const { name, path } of files) {
    const bytes = await loadSmallFile(path)
    const secret = readSecretFile(bytes)
    const use = listed.length === 0 ? 'active' : KINDS[secret.kind] ? 'passive' : 'unused'
    listed.push({ name, use, kind: kindOf(secret), sha256: digestHex('sha256', trim(bytes)) })
  }
  return listed
}

/** Whether a secret of this kind verifies tokens. */
const KINDS = { signer: true, public: true, empty: false, too_long: false, not_ec: false } as const

function kindOf(secret: Secret): SecretKind | undefined {
  if (secret.kind === 'signer') return secret.signer.key.alg
  return secret.kind === 'public' ? 'ES256' : undefined
}
