/** Authenticators of Chromium, for tests in a browser. */
import type { CDPSession, Page } from 'playwright-core'

export interface VirtualDevice {
  readonly cdp: CDPSession
  readonly id: string
}

/** A device with a fingerprint reader, which is always touched by its owner. */
export async function addDevice(page: Page): Promise<VirtualDevice> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable', { enableUI: false })
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options })
  return { cdp, id }
}

const listHeld = async ({ cdp, id }: VirtualDevice) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId: id })).credentials

/** Moves the passkeys to the device of another window, as a device that its owner carries. */
export async function carry(from: VirtualDevice, to: VirtualDevice): Promise<void> {
  for (const credential of await listHeld(from))
    await to.cdp.send('WebAuthn.addCredential', { authenticatorId: to.id, credential })
}

export const countHeld = async (device: VirtualDevice): Promise<number> => (await listHeld(device)).length

/** Its owner does not touch the device when it asks for it, so the browser waits. */
export async function leaveUntouched({ cdp, id }: VirtualDevice): Promise<void> {
  await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId: id, enabled: false })
}
