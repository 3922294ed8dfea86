/** The options of the module, by section. */
export interface MailSettings {
  readonly mail: {
    /** Empty: no message is sent. */
    readonly url: string
    readonly password: string
    readonly tls: 'required' | 'optional'
    readonly from: string
    readonly 'reply-to': string
    readonly templates: string
    readonly 'sign-up': 'off' | 'verified'
    readonly 'sign-in': 'off' | 'verified'
    readonly 'invitation-days': number
    readonly 'mailbox-requests-per-hour': number
    readonly 'client-requests-per-hour': number
  }
  readonly console: {
    readonly name: string
    readonly 'public-url': string
  }
}

/** What is read while a user is written. */
export interface StoredWith {
  readonly mail: Pick<MailSettings['mail'], 'url'>
}

export const isMailOn = ({ mail }: StoredWith): boolean => mail.url !== ''

export const doAddressesSignIn = ({ mail }: Pick<MailSettings, 'mail'>): boolean => mail['sign-in'] === 'verified'

/** What messages call this installation. */
export const toProduct = ({ console }: Pick<MailSettings, 'console'>): string =>
  console.name || (URL.canParse(console['public-url']) ? new URL(console['public-url']).host : '')
