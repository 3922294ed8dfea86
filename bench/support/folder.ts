import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs `work` with a temporary folder. */
export async function withFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const ADMIN = { name: 'admin', password: 'the-password-of-admin' }

/** Writes a configuration with free ports and one administrator. */
export function writeConfig(folder, iterations) {
  const lines = [
    '[store]',
    'url = sqlite:cardea.db',
    '[chttpd]',
    'port = 0',
    '[server]',
    'endpoint = tcp://127.0.0.1:0',
    'jwt-secret = a-secret-of-tokens-for-benches-only',
    '[chttpd_auth]',
    `iterations = ${iterations}`,
    'secret = a-secret-of-cookies-for-benches-only',
    '[couchdb]',
    `uuid = ${'0'.repeat(32)}`,
    '[admins]',
    `${ADMIN.name} = ${ADMIN.password}`,
    '',
  ]
  writeFileSync(join(folder, 'local.ini'), lines.join('\n'), { mode: 0o600 })
}
