import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { messageOf } from '../base/errors.ts'
import { createFile, createFolders } from '../base/files.ts'
import { STRICT_DEFAULTS } from '../config/layers.ts'
import { OPTIONS } from '../config/option-table.ts'
import { makeAuditKey } from '../observe/audit/audit-key.ts'
import { renderAdminPassword } from '../passwords/admin-password.ts'
import { createHasher } from '../passwords/hasher.ts'
import { type Context, ExitError } from './context.ts'

/** `cardea init`: a folder with a configuration, one administrator and key files. */
export function initCommand(context: Context): Command {
  return new Command('init')
    .description('make a folder with a configuration, an administrator and keys')
    .argument('[folder]', 'where', 'data')
    .action(async (folder: string) => {
      requireNoOptions(context)
      const made = isFolderMade(folder) ? undefined : await makeFolder(folder)
      if (!made) throw new ExitError(1, `${folder} has a configuration already: nothing was changed.`)
      context.print(renderMade(made))
      context.print(`\nStart it with\n  cardea serve --config ${folder}`)
    })
}

/** Options given here would be ignored; they belong into the file of the folder. */
function requireNoOptions({ flags: { flags, configs } }: Context): void {
  const given = [...configs.map(() => '--config'), ...flags.map(({ section, key }) => `--${section}.${key}`)]
  if (given.length === 0) return
  throw new ExitError(
    1,
    `init takes no options of the configuration: ${given.join(', ')}. Give them to serve or start.`,
  )
}

export async function makeFolder(folder: string): ReturnType<typeof createFolder> {
  try {
    return await createFolder(folder)
  } catch (error) {
    const reason = isReadOnly(folder)
      ? 'the file system is read-only. Remount it for writing, or choose another folder.'
      : messageOf(error)
    throw new ExitError(1, `${folder} cannot be made: ${reason}`)
  }
}

/** Asks for the nearest folder that exists: Node's `mkdir` reports ENOENT where it cannot create a parent folder. */
function isReadOnly(folder: string): boolean {
  const path = resolve(folder)
  if (!existsSync(path) && dirname(path) !== path) return isReadOnly(dirname(path))
  try {
    accessSync(path, constants.W_OK)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS'
  }
}

/** The only place where the password is shown. */
export const renderMade = ({ folder, administrator, password }: MadeFolder): string =>
  `Made ${folder}/ with a configuration, keys and one administrator:

  name      ${administrator}
  password  ${password}

This is the only time the password is shown; only its hash is kept.
New passwords need at least 12 characters: see auth.min-password-length in the configuration.`

/** Where `cardea start` and `cardea init` put a configuration by default. */
export const DEFAULT_FOLDER = 'data'

const CONFIG_FILE = 'local.ini'
const ADMINISTRATOR = 'admin'
export const AUDIT_KEY = 'keys/audit.pem'

/** Whether a folder contains a configuration. It is written last, so a folder without it is incomplete. */
export const isFolderMade = (folder: string): boolean => existsSync(join(folder, CONFIG_FILE))

interface MadeFolder {
  readonly folder: string
  readonly administrator: string
  /** Plain text, to be shown once. */
  readonly password: string
}

/**
 * Creates a folder with everything a server needs, private to its owner. Existing keys are kept. `undefined`: another
 * process created the configuration meanwhile, with its own password.
 */
async function createFolder(folder: string): Promise<MadeFolder | undefined> {
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
  const { pbkdf2_prf, iterations } = OPTIONS.chttpd_auth
  const hasher = createHasher({ queue: () => 1 })
  const parameters = { scheme: 'pbkdf2', prf: pbkdf2_prf.initial, iterations: iterations.initial } as const
  return renderAdminPassword(await hasher.hash(password, parameters))
}

const renderStrict = (section: string): string =>
  STRICT_DEFAULTS.flatMap((row) => (row.section === section ? [`${row.key} = ${row.text}`] : [])).join('\n')

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
