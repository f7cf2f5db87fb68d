import LibC
package import TilePrefetch

/// A session on a screen: a viewport for each 60th of a second in which the map moves.
package struct SessionFrames: Sendable {
  package struct Frame: Sendable {
    /// 60ths of a second since the start.
    package var tick: Int
    package var viewport: Viewport
    package var phase: CameraPhase
  }

  package static var rate: Double { 60 }

  package let name: String
  package internal(set) var frames: [Frame] = []
  /// The frames at which a policy plans that does not plan at every frame: changes of tiles, phase or target, and
  /// otherwise ten times a second while the map moves.
  package internal(set) var isEvent: [Bool] = []

  package init(_ session: RecordedSession, on device: ReplayDevice, isHarsh: Bool) {
    name = session.name
    var renderer = SessionRenderer(session, device, isHarsh: isHarsh)
    for gesture in session.gestures { renderer.render(gesture) }
    frames = renderer.frames
    markEvents()
  }

  private mutating func markEvents() {
    isEvent = Array(repeating: false, count: frames.count)
    var last = -99
    for index in frames.indices {
      let frame = frames[index]
      let interval = frame.phase == .follow ? 60 : 6
      let changed =
        index == 0 || frames[index - 1].viewport.tiles != frame.viewport.tiles || frames[index - 1].phase != frame.phase
      guard changed || frame.tick - last >= interval else { continue }
      isEvent[index] = true
      last = frame.tick
    }
  }
}

extension SessionFrames {
  /// The same movements elsewhere: moves one point to another, and makes everything finer by a number of zooms.
  func moved(from: (x: Double, y: Double), to: (x: Double, y: Double), zooms: Double) -> SessionFrames {
    let scale = exp2(-zooms)
    func move(_ viewport: Viewport) -> Viewport {
      var moved = viewport
      moved.x = to.x + (viewport.x - from.x) * scale
      moved.y = to.y + (viewport.y - from.y) * scale
      moved.zoom = max(0, viewport.zoom + zooms)
      return moved
    }
    var copy = self
    copy.frames = frames.map { frame in
      var frame = frame
      frame.viewport = move(frame.viewport)
      switch frame.phase {
      case .fling(let target): frame.phase = .fling(target: move(target))
      case .animation(let target): frame.phase = .animation(target: move(target))
      case .rest, .drag, .pinch, .follow: break
      }
      return frame
    }
    copy.markEvents()
    return copy
  }
}

/// A screen on which sessions are replayed.
package enum ReplayDevice: String, CaseIterable, Hashable, Sendable {
  /// 1170 x 2532 pixels: about 62 tiles.
  case phone
  /// 1920 x 1080 pixels: about 45 tiles.
  case desktop

  /// In pixels.
  package var size: (width: Double, height: Double) {
    switch self {
    case .phone: (1170, 2532)
    case .desktop: (1920, 1080)
    }
  }

  /// The shorter side in pixels, the unit of gestures.
  package var shortSide: Double { min(size.width, size.height) }
}
