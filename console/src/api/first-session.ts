// Asks for the session as soon as this file is evaluated: the rest of the script runs while the server replies.
import { api, isSignInOpen, type SessionView } from './client.ts'

export const askSession = (): Promise<SessionView> => api.get<SessionView>('/session')

/** `undefined`: no browser may sign in at this address. */
export const firstSession = isSignInOpen ? askSession() : undefined
