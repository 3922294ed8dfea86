import './api/first-session.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/frame.css'
import './styles/controls.css'
import './styles/parts.css'
import './styles/charts.css'
import 'uplot/dist/uPlot.min.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { applyTheme } from './frame/apply-theme.ts'
import { StillWaiting } from './ui/states.tsx'

applyTheme()
const root = document.getElementById('app')
if (root)
  render(
    <>
      <StillWaiting />
      <App />
    </>,
    root,
  )
