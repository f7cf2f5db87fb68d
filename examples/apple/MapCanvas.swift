import OfflineMap
import SwiftUI

/// The tiles of a map view, whose session decodes with the system:
/// `MapSession(bundle: bundle, budget: 64 << 20, decoder: SystemImageDecoder())`. One finger moves the map, two enlarge
/// it.
struct MapCanvas: View {
  let session: MapSession<SystemImage>
  @Binding var viewport: Viewport
  @State private var tiles: [VisibleTile<SystemImage>] = []
  /// What was shown when the fingers came down.
  @State private var start: Viewport?

  var body: some View {
    Canvas { context, _ in
      for tile in tiles {
        let frame = CGRect(x: tile.frame.x, y: tile.frame.y, width: tile.frame.side, height: tile.frame.side)
        context.draw(Image(decorative: tile.picture.image, scale: 1), in: frame)
      }
    }
    .gesture(
      DragGesture(minimumDistance: 0).simultaneously(with: MagnifyGesture())
        .onChanged { fingers in
          let before = start ?? viewport
          start = before
          var after = before
          if let pinch = fingers.second {
            let point = pinch.startLocation
            after = after.zoomed(by: zooms(of: pinch.magnification, from: before), aroundX: point.x, y: point.y)
          }
          if let drag = fingers.first { after = after.moved(byX: drag.translation.width, y: drag.translation.height) }
          // No further than the map's upper and lower edge. To the sides it goes around the world.
          after.y = min(max(after.y, 0), 1)
          viewport = after
        }
        .onEnded { _ in start = nil }
    )
    .onChange(of: viewport, initial: true) {
      session.update(viewport)
      tiles = session.visibleTiles
    }
    .task { await session.run() }
    .task {
      // Before the tiles that are there already: one that arrives in between is announced.
      let ready = session.readyTiles()
      tiles = session.visibleTiles
      for await _ in ready { tiles = session.visibleTiles }
    }
  }

  /// The zooms of a pinch, limited to those of the map and two more, in which its tiles are enlarged. The factor may be
  /// 0.
  private func zooms(of factor: Double, from viewport: Viewport) -> Double {
    let zooms = session.bundle.metadata.zooms
    let (first, last) = (Double(zooms.lowerBound) - viewport.zoom, Double(zooms.upperBound) + 2 - viewport.zoom)
    return min(max(first, log2(factor)), last)
  }
}
