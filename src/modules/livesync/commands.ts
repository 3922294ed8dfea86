import type { ModuleCommand } from '../module.ts'

export const ADD_VAULT: ModuleCommand = {
  group: 'livesync',
  name: 'add',
  description: 'create a vault of Obsidian LiveSync, or add a device to it, and print what to type into the plug-in',
  arguments: [['<vault>', 'name of the user and of the database']],
  options: [['--device <name>', 'name of the device, for its token', 'device']],
  async run(call, { arguments: [name = ''], options: { device = '' } }) {
    const result = await call('livesync.add', { params: { name }, body: { device } })
    return { result, text: (await renderVault(result)).join('\n') }
  },
}

interface Vault {
  readonly vault: string
  readonly device: string
  readonly token: string
  readonly url: string
}

async function renderVault(given: Vault): Promise<readonly string[]> {
  const { vault, device, token, url } = given
  return [
    `URI            ${url || 'https://… of the document door'}`,
    `Username       ${vault}`,
    `Password       ${token}`,
    `Database name  ${vault}`,
    '',
    ...(url === ''
      ? ['Set console.public-url to that URI, and the next device gets a QR code.']
      : [await renderCode(given), 'The QR code contains the password: scan it with the camera of the device.']),
    `The device is lost: cardea token revoke ${vault} ${device}`,
  ]
}

/** What the plug-in reads from a QR code: its first settings, in its order. The user types the rest. */
export const toSetupUri = ({ vault, token, url }: Pick<Vault, 'vault' | 'token' | 'url'>): string => {
  // the remote is a CouchDB; no request handler of its own
  const settings = [packText(''), 'f', ...[url, vault, token, vault].map(packText)]
  return `obsidian://setuplivesync?settingsQR=${encodeURIComponent(settings.join(''))}`
}

/** A letter for the number of digits of the length, the length to base 36, and the text. */
function packText(text: string): string {
  const length = text.length.toString(36)
  return `${'VWXYZ'[length.length - 1]}${length}${text}`
}

async function renderCode(vault: Vault): Promise<string> {
  const { renderUnicodeCompact } = await import('uqr')
  return renderUnicodeCompact(toSetupUri(vault))
}
