import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { hasPageToken, isSignInOpen, type SessionView } from './api/client.ts'
import { askSession, firstSession } from './api/first-session.ts'
import { Frame } from './frame/frame.tsx'
import { loadFirstPage } from './frame/page-table.ts'
import { SessionContext, toSignedIn } from './frame/session.ts'
import { LINKS } from './links.tsx'
import { Closed, SignIn, SignInAgain } from './pages/sign-in/sign-in.tsx'
import { useRoute } from './router.ts'
import { shared } from './texts.ts'
import { Failure, Loading } from './ui/states.tsx'

type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'ready'; readonly session: SessionView }

const firstPage = loadFirstPage()
const RELOADED = 'cardea-reloaded'

/** A page that another site linked to is delivered without the session. The second delivery has it. */
function reloadOnce(): boolean {
  if (sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, '1')
  location.reload()
  return true
}

export function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const load = async (asked: Promise<SessionView>) => {
    setState({ kind: 'loading' })
    try {
      const session = await asked
      if (session.name !== null && !hasPageToken() && reloadOnce()) return
      // frame and page in one go: the page asks for its data before the browser lays out the frame
      if (session.name !== null) await firstPage
      setState({ kind: 'ready', session })
    } catch (error) {
      setState({ kind: 'failed', error })
    }
  }
  // before the first paint, which an ordinary effect would wait for
  useLayoutEffect(() => {
    if (firstSession) void load(firstSession)
  }, [])
  useEffect(() => {
    if (state.kind === 'ready') sessionStorage.removeItem(RELOADED)
  }, [state.kind])
  const { path } = useRoute()
  if (!isSignInOpen) return <Closed />
  const [name = '', token] = path
  const showLink = LINKS[name]
  if (showLink && token !== undefined) return showLink(token)
  if (state.kind === 'loading') return <Loading />
  if (state.kind === 'failed')
    return <Failure what={shared.product} error={state.error} onRetry={() => load(askSession())} />
  const session = toSignedIn(state.session)
  if (!session) return <SignIn />
  return (
    <SessionContext.Provider value={session}>
      <Frame />
      <SignInAgain name={session.name} />
    </SessionContext.Provider>
  )
}
