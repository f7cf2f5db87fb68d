import CTIFFShim

/// One directory of a file with what is needed to read its pixels.
struct TIFFPart: Sendable {
  let file: TIFFFile
  let layout: TIFFLayout
  /// Whether some blocks are missing in the file.
  let isSparse: Bool
}

/// The directories of TIFFs that belong to an image: its mask, and its overviews with their masks. They lie in the file
/// itself; overviews also in the file of the same name with `.ovr` after it, and masks in that with `.msk`.
struct TIFFDirectories: Sendable {
  private struct Entry: Sendable {
    let file: SourceFile
    let directory: Int
    let layout: TIFFLayout
    let isMask: Bool
  }

  private let masks: [Entry]
  private let overviews: [Entry]
  /// The size of the image.
  private let width: Int
  private let height: Int
  private let warnings: WarningList

  /// Overviews and their masks are at most this many.
  private static let directoriesMax = 64

  /// Reads the layouts. What is damaged or belongs to something else is left out.
  init(_ source: SourceFile, image: TIFFLayout, warnings: WarningList) {
    let side = SideFiles(path: source.path)
    let found =
      Self.entries(of: source, from: 1) + Self.entries(in: side.overviews)
      + [side.mask, side.maskOverviews].flatMap { Self.entries(in: $0, areMasks: true) }
    self.init(found, width: image.width, height: image.height, warnings) { $0.isReduced(from: image) }
  }

  /// The overviews in the file beside a raster that is no TIFF.
  ///
  /// - Parameter samples: bands of the raster.
  /// - Returns: nil if there are none.
  init?(beside path: String, width: Int, height: Int, samples: Int, warnings: WarningList) {
    self.init(Self.entries(in: SideFiles(path: path).overviews), width: width, height: height, warnings) {
      $0.samples == samples && $0.isReduced(fromWidth: width, height: height)
    }
    if overviews.isEmpty { return nil }
  }

  /// The masks in the file beside a raster that is no TIFF.
  init(masksBeside path: String, width: Int, height: Int, warnings: WarningList) {
    let found = Self.entries(in: SideFiles(path: path).mask, areMasks: true)
    self.init(found, width: width, height: height, warnings) { _ in false }
  }

  private init(
    _ found: [Entry], width: Int, height: Int, _ warnings: WarningList, isOverview: (TIFFLayout) -> Bool
  ) {
    (self.width, self.height, self.warnings) = (width, height, warnings)
    masks = found.filter { entry in
      entry.isMask && entry.layout.samples == 1 && [1, 8].contains(entry.layout.bits)
        && entry.layout.blockWidth * entry.layout.blockHeight <= TIFFLayout.blockBytesMax
    }
    overviews = found.filter { $0.layout.isReducedImage && !$0.isMask && isOverview($0.layout) }
      .sorted { $0.layout.width > $1.layout.width }
  }

  private static func entries(in path: String, areMasks: Bool = false) -> [Entry] {
    (try? SourceFile(path: path)).map { entries(of: $0, from: 0, areMasks: areMasks) } ?? []
  }

  /// - Parameter areMasks: whether all are masks, whatever they are said to be.
  private static func entries(of source: SourceFile, from first: Int, areMasks: Bool = false) -> [Entry] {
    guard let handle = try? TIFFHandle(source) else { return [] }
    var found: [Entry] = []
    for directory in 0..<directoriesMax {
      // The image is usable even if a directory after it is damaged.
      if directory > 0, ctiff_next_directory(handle.pointer) == 0 { break }
      if directory >= first, let layout = try? TIFFLayout(handle, file: source) {
        found.append(
          Entry(file: source, directory: directory, layout: layout, isMask: areMasks || layout.isMask))
      }
    }
    return found
  }

  /// The mask of the full image.
  ///
  /// - Throws: ``CutError`` `.badSource` if it is damaged.
  func mask() throws -> TIFFPart? { try mask(width: width, height: height) { !$0.isReducedImage } }

  /// The coarsest overview of which a pixel spans at most `factor` pixels of the image and that `accepts`; with its
  /// mask if the image has one. A damaged one is left out with a warning.
  ///
  /// - Parameter pixelsMin: overviews of fewer pixels are left out.
  func overview(
    factorMax: Double, pixelsMin: Int = 1, isMasked: Bool, accepts: (TIFFPart) -> Bool
  ) -> (image: TIFFPart, mask: TIFFPart?)? {
    for entry in overviews.reversed()
    where Double(width) / Double(entry.layout.width) <= factorMax
      && Double(height) / Double(entry.layout.height) <= factorMax
      && entry.layout.width * entry.layout.height >= pixelsMin
    {
      do {
        let part = try part(entry)
        let (width, height) = (part.layout.width, part.layout.height)
        let mask = isMasked ? try mask(width: width, height: height) { $0.isReducedImage } : nil
        if accepts(part), !isMasked || mask != nil { return (part, mask) }
      } catch {
        warnings.add(
          "\(entry.file.path): an overview of \(entry.layout.width) x \(entry.layout.height) pixels is damaged"
            + " and not used"
        )
      }
    }
    return nil
  }

  private func mask(width: Int, height: Int, where isRight: (TIFFLayout) -> Bool) throws -> TIFFPart? {
    let entry = masks.first { $0.layout.width == width && $0.layout.height == height && isRight($0.layout) }
    return try entry.map(part)
  }

  private func part(_ entry: Entry) throws -> TIFFPart {
    let file = TIFFFile(entry.file, directory: entry.directory, warnings: warnings)
    let survey = try file.withHandle { try TIFFBlockSurvey(entry.layout, handle: $0, file: entry.file) }
    return TIFFPart(file: file, layout: entry.layout, isSparse: survey.isSparse)
  }
}

extension TIFFLayout {
  /// Whether this may be an overview of an image: the same samples, and fewer pixels in both directions alike.
  fileprivate func isReduced(from image: TIFFLayout) -> Bool {
    let isSameColour =
      photometric == image.photometric
      || (photometric == .rgb || isRGBFromJPEG) && (image.photometric == .rgb || image.isRGBFromJPEG)
    return samples == image.samples && bits == image.bits && format == image.format && isSameColour
      && isReduced(fromWidth: image.width, height: image.height)
  }

  /// Whether the size may be that of an overview.
  fileprivate func isReduced(fromWidth fullWidth: Int, height fullHeight: Int) -> Bool {
    guard width < fullWidth, height <= fullHeight else { return false }
    // Sizes are rounded, up or down.
    let factor = Double(fullWidth) / Double(width)
    return abs(Double(fullHeight) / factor - Double(height)) <= 1 + Double(height) / Double(width)
  }
}
