// What `cardea check` finds about the mail server and the templates.
import { messageOf } from '../../base/errors.ts'
import type { Settings } from '../../config/settings.ts'
import { readAddress } from '../../directory/users/address.ts'
import { listNamesWithAt } from '../../store/backup/check-records.ts'
import { readStore } from '../../store/backup/engines.ts'
import type { Finding, ModuleCheck } from '../module.ts'
import { MESSAGES, type MessageName } from './messages.ts'
import { listUnknown, loadTemplate } from './render.ts'
import { checkMailServer, sendMessage } from './send.ts'
import { doAddressesSignIn, isMailOn } from './settings.ts'

export const MAIL_CHECK: ModuleCheck = {
  name: 'mail',
  flag: ['--send-to <address>', 'send a test message to this e-mail address'],
  isConfigured: ({ values }, { sendTo }) => isMailOn(values) || doAddressesSignIn(values) || sendTo !== undefined,
  find: async (settings, { hasStore, flags: { sendTo } }) => [
    ...(isMailOn(settings.values) ? await checkTemplates(settings) : []),
    ...(sendTo === undefined ? await checkConnection(settings) : await sendTest(settings, sendTo)),
    ...(hasStore && doAddressesSignIn(settings.values) ? await checkNames(settings) : []),
  ],
  ok: 'the mail server, the texts of messages, and the names of users are in order',
}

const SERVER_ADVICE = 'Compare mail.url, mail.password and mail.tls with what the mail server expects.'

async function checkConnection({ values }: Settings): Promise<readonly Finding[]> {
  if (!isMailOn(values)) return []
  try {
    await checkMailServer(values)
    return []
  } catch (error) {
    const message = `the mail server does not accept Cardea: ${messageOf(error)}`
    return [{ level: 'problem', message, advice: SERVER_ADVICE }]
  }
}

/** In place of the connection alone. */
async function sendTest({ values }: Settings, sendTo: string): Promise<readonly Finding[]> {
  const to = readAddress(sendTo)
  if (to === undefined) return [{ level: 'problem', message: '--send-to: expected an e-mail address' }]
  if (!isMailOn(values)) return [{ level: 'problem', message: '--send-to: mail.url is empty, so no message is sent' }]
  try {
    await sendMessage(values, { name: 'test', to })
    return [{ level: 'ok', message: `the mail server accepted a test message to ${to}` }]
  } catch (error) {
    const message = `the test message was not sent: ${messageOf(error)}`
    return [{ level: 'problem', message, advice: SERVER_ADVICE }]
  }
}

/** Existing users keep their names. */
async function checkNames({ values }: Settings): Promise<readonly Finding[]> {
  // why it cannot be read is a finding about the store
  const names = await readStore(values.store.url, listNamesWithAt).catch(() => [])
  const message = `${names.length} ${names.length === 1 ? 'user has a name' : 'users have names'} with @, which win over addresses that look like them`
  return names.length === 0 ? [] : [{ level: 'warning', message, advice: NAMES_WITH_AT, names: names.slice(0, 10) }]
}

const NAMES_WITH_AT =
  'No other user can verify such an address. If the name is not the address of its user, give the user another name.'

async function checkTemplates({ values: { mail } }: Settings): Promise<readonly Finding[]> {
  if (mail.templates === '') return []
  // `Object.keys` loses the names
  const names = Object.keys(MESSAGES) as readonly MessageName[]
  const found = names.map(async (name): Promise<readonly Finding[]> => {
    try {
      const unknown = listUnknown(await loadTemplate(name, mail.templates))
      return unknown.map((placeholder) => ({
        level: 'warning',
        message: `the template of ${name} has {{${placeholder}}}, which stays empty`,
        advice: 'Compare it with the placeholders in docs/guides/mail.md.',
      }))
    } catch (error) {
      return [{ level: 'problem', message: `the template of ${name} cannot be read: ${messageOf(error)}` }]
    }
  })
  return (await Promise.all(found)).flat()
}
