// The folder of a new server: its configuration, one administrator and its keys.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createFile, createFolders } from '../base/files.ts'
import { NEW_SERVER_VALUES, STRICT_DEFAULTS } from '../config/layers.ts'
import { CORE_OPTIONS } from '../config/option-table.ts'
import { makeAuditKey } from '../observe/audit/audit-key.ts'
import { createHasher } from '../passwords/hasher.ts'
import { renderAdminPassword } from '../passwords/schemes.ts'

/** Where `cardea start` and `cardea init` put a configuration by default. */
export const DEFAULT_FOLDER = 'data'

const CONFIG_FILE = 'local.ini'
const ADMINISTRATOR = 'admin'
export const AUDIT_KEY = 'keys/audit.pem'

/** Whether a folder contains a configuration. It is written last, so a folder without it is incomplete. */
export const isFolderMade = (folder: string): boolean => existsSync(join(folder, CONFIG_FILE))

export interface MadeFolder {
  readonly folder: string
  readonly administrator: string
  /** Plain text, to be shown once. */
  readonly password: string
}

/**
 * Creates a folder with everything a server needs, private to its owner. Existing keys are kept. `undefined`: another
 * process created the configuration meanwhile, with its own password.
 */
export async function createFolder(folder: string): Promise<MadeFolder | undefined> {
  const password = randomBytes(15).toString('base64url')
  createFolders(join(folder, 'keys', 'tokens'))
  // 32 random bytes as 64 hexadecimal digits: the longest secret that ArangoDB accepts.
  for (const name of ['cookie', 'tokens/1.key']) makeKey(join(folder, 'keys', name), randomBytes(32).toString('hex'))
  makeKey(join(folder, AUDIT_KEY), makeAuditKey())
  const isMade = createFile(join(folder, CONFIG_FILE), renderConfig(await hashNew(password)))
  return isMade ? { folder, administrator: ADMINISTRATOR, password } : undefined
}

function makeKey(path: string, key: string): void {
  if (createFile(path, key)) return
  const problem = checkKey(path)
  if (problem) throw new Error(`${path} exists, but ${problem}. Correct it, or remove it to create a new one`)
}

const OTHERS = 0o077

/** Why an existing file cannot be used as a key; `undefined`: it can. */
function checkKey(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found?.isFile()) return 'it is not a file'
  if ((found.mode & OTHERS) !== 0) return 'others than its owner can access it (its mode must be 600)'
  return readFileSync(path, 'utf8').trim() === '' ? 'it is empty' : undefined
}

async function hashNew(password: string): Promise<string> {
  const { pbkdf2_prf, iterations } = CORE_OPTIONS.chttpd_auth
  const hasher = createHasher({ queue: () => 1 })
  const parameters = { scheme: 'pbkdf2', prf: pbkdf2_prf.initial, iterations: iterations.initial } as const
  return renderAdminPassword(await hasher.hash(password, parameters))
}

const renderStrict = (section: string): string =>
  [...STRICT_DEFAULTS, ...NEW_SERVER_VALUES]
    .flatMap((row) => (row.section === section ? [`${row.key} = ${row.text}`] : []))
    .join('\n')

const renderConfig = (
  administrator: string,
): string => `; Configuration of this Cardea. etc/default.ini lists every option with its default.
; Relative paths are relative to this file.

[store]
url = sqlite:cardea.db

[server]
jwt-secret-folder = keys/tokens

[chttpd_auth]
secret = @file:keys/cookie
; Stricter than the defaults, which are those of CouchDB.
${renderStrict('chttpd_auth')}

[auth]
${renderStrict('auth')}

[audit]
; Signs the checkpoints of the audit trail.
key-file = ${AUDIT_KEY}

[couchdb]
uuid = ${randomBytes(16).toString('hex')}

[admins]
${ADMINISTRATOR} = ${administrator}
`
