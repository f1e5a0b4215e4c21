"""When is a page whole? Its script has ended, every chart and table of it is drawn."""

from __future__ import annotations

IS_DRAWN = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    if (!app || app.dataset.testScriptState !== 'notRunning') return false;
    if (document.querySelector('[data-testid=stSkeleton]')) return false;
    const charts = [...document.querySelectorAll('[data-testid=stPlotlyChart]')];
    return charts.every(chart => chart.querySelector('.main-svg'));
}"""
"""True once the page's script has ended and every chart and table of it is drawn."""
