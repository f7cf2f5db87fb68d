extension TIFFPixelDecoder {
  /// Unpacks samples of fewer than 8 bits to bytes: unchanged values for a table, else stretched to 0...255. Samples of
  /// 9 to 15 bits become 16-bit ones of the same value.
  func unpack(_ planes: [UnsafeRawPointer], count: Int, work: UnsafeMutableRawPointer) -> [BandRow] {
    let sampleCount = count * layout.samplesPerBlockPixel
    let sampleBytes = layout.bits < 8 ? 1 : 2
    for (i, plane) in planes.enumerated() {
      let target = work + i * sampleCount * sampleBytes
      if layout.bits < 8 {
        BandRow.unpack(
          plane, bits: layout.bits, sampleCount: sampleCount, into: target.assumingMemoryBound(to: UInt8.self))
      } else {
        BandRow.unpackWide(
          plane, bits: layout.bits, sampleCount: sampleCount, into: target.assumingMemoryBound(to: UInt16.self))
      }
    }
    if layout.bits < 8, case .indexed = form {
    } else if layout.bits < 8 {
      let bytes = work.assumingMemoryBound(to: UInt8.self)
      let factor = 255 / ((1 << layout.bits) - 1)
      let rest = 255 % ((1 << layout.bits) - 1)
      for i in 0..<planes.count * sampleCount {
        // The remainder matters for 3, 5, 6 and 7 bits, whose maximum does not divide 255.
        bytes[i] = UInt8(Int(bytes[i]) * factor + Int(bytes[i]) * rest / ((1 << layout.bits) - 1))
      }
    }
    if layout.isSeparate {
      return planes.indices.map { BandRow(base: UnsafeRawPointer(work + $0 * sampleCount * sampleBytes), stride: 1) }
    }
    return self.bands.map { BandRow(base: UnsafeRawPointer(work + $0 * sampleBytes), stride: layout.samples) }
  }

  /// Joins three bands to RGB.
  static func joinOpaque(_ bands: [BandRow], count: Int, into target: UnsafeMutableRawPointer) {
    let pixels = target.assumingMemoryBound(to: UInt8.self)
    let (r, g, b) = (bands[0].samples, bands[1].samples, bands[2].samples)
    let stride = bands[0].stride
    for i in 0..<count {
      pixels[i &* 3] = r[i &* stride]
      pixels[i &* 3 &+ 1] = g[i &* stride]
      pixels[i &* 3 &+ 2] = b[i &* stride]
    }
  }

  /// Joins any bands to RGBA: scales what is not 8-bit, applies palettes, nodata and alpha.
  func joinRGBA(
    _ bands: [BandRow], count: Int, into target: UnsafeMutableRawPointer, work: UnsafeMutableRawPointer
  ) -> Bool {
    let words = target.assumingMemoryBound(to: UInt32.self)
    if model.holdsHeights {
      bands[0].heights(count: count, layout: layout, nodata: model.nodata?[0], into: words)
      return Self.anyVisible(words, count: count)
    }
    if case .palette(let colours) = model.colour {
      lookUp(bands[0], colours: colours, count: count, into: words)
      if model.alphaBand != nil { applyAlpha(alphaRow(bands, count: count, work: work), count: count, to: words) }
      return Self.anyVisible(words, count: count)
    }
    guard layout.bits > 8 || model.scale != nil else {
      joinBytes(bands, count: count, into: words)
      if let nodata = model.nodata { clearNodata(nodata, count: count, in: words) }
      if model.alphaBand != nil { applyAlpha(bands[model.colourBandCount], count: count, to: words) }
      return Self.anyVisible(words, count: count)
    }
    let scaled = (work + unpackedBytes(width: count)).assumingMemoryBound(to: UInt8.self)
    let isData = scaled + 3 * (count + 16)
    isData.update(repeating: 0, count: count)
    for band in 0..<model.colourBandCount {
      bands[band].scale(
        count: count, layout: layout, by: model.scale!, nodata: model.nodata?[band], isInverted: model.isInverted,
        into: scaled + band * (count + 16), isData: isData)
    }
    joinBytes(
      (0..<model.colourBandCount).map { BandRow(base: UnsafeRawPointer(scaled + $0 * (count + 16)), stride: 1) },
      count: count, into: words)
    for i in 0..<count where isData[i] == 0 { words[i] = 0 }
    if model.alphaBand != nil { applyAlpha(alphaRow(bands, count: count, work: work), count: count, to: words) }
    return Self.anyVisible(words, count: count)
  }

  /// Joins 8-bit bands to opaque words.
  private func joinBytes(_ bands: [BandRow], count: Int, into words: UnsafeMutablePointer<UInt32>) {
    let stride = bands[0].stride
    let r = bands[0].samples
    if model.colourBandCount == 1 {
      let flip: UInt32 = model.isInverted && model.scale == nil ? 0x00ff_ffff : 0
      for i in 0..<count { words[i] = (UInt32(r[i &* stride]) &* 0x0001_0101 ^ flip) | 0xff00_0000 }
    } else if stride >= 3, bands[1].base == bands[0].base + 1, bands[2].base == bands[0].base + 2 {
      // Reads one byte of the next pixel, or of the slack bytes.
      for i in 0..<count {
        words[i] = bands[0].base.loadUnaligned(fromByteOffset: i &* stride, as: UInt32.self) | 0xff00_0000
      }
    } else {
      let (g, b) = (bands[1].samples, bands[2].samples)
      for i in 0..<count {
        let place = i &* stride
        words[i] = UInt32(r[place]) | UInt32(g[place]) << 8 | UInt32(b[place]) << 16 | 0xff00_0000
      }
    }
  }

  /// Clears pixels whose 8-bit colours all are nodata.
  private func clearNodata(_ nodata: [NodataValue], count: Int, in words: UnsafeMutablePointer<UInt32>) {
    // Samples of fewer than 8 bits have been stretched, so the nodata value is compared in their units.
    let unit = Double(255 / max(1, (1 << min(8, layout.bits)) - 1))
    let bytes = nodata.map { value in (0..<256).first { value.matches(Double($0) / unit) } }
    guard let r = bytes[0], let g = bytes[nodata.count == 1 ? 0 : 1], let b = bytes[nodata.count == 1 ? 0 : 2] else {
      return
    }
    var wanted = UInt32(r) | UInt32(g) << 8 | UInt32(b) << 16 | 0xff00_0000
    if model.isInverted && model.scale == nil { wanted ^= 0x00ff_ffff }
    for i in 0..<count where words[i] == wanted { words[i] = 0 }
  }

  private func lookUp(
    _ band: BandRow, colours: [UInt32], count: Int, into words: UnsafeMutablePointer<UInt32>
  ) {
    colours.withUnsafeBufferPointer { colours in
      for i in 0..<count {
        let value = band.value(i, layout: layout)
        let isNodata = model.nodata.map { $0[0].matches(value) } ?? false
        words[i] = isNodata ? 0 : ColourTable.word(value, in: colours)
      }
    }
  }

  /// The alpha band scaled to 8 bits: from the full range for integers, from 0...1 for floats.
  private func alphaRow(_ bands: [BandRow], count: Int, work: UnsafeMutableRawPointer) -> BandRow {
    let band = bands[model.colourBandCount]
    guard layout.bits > 8 || layout.format != .unsigned else { return band }
    let high: Double =
      switch layout.format {
      case .float: 1
      case .signed: Double(sign: .plus, exponent: layout.bits - 1, significand: 1) - 1
      case .unsigned: Double(sign: .plus, exponent: layout.bits, significand: 1) - 1
      }
    let target = (work + unpackedBytes(width: count) + 4 * (count + 16)).assumingMemoryBound(to: UInt8.self)
    let unused = target + count + 16
    band.scale(
      count: count, layout: layout, by: SampleScale(unchecked: 0, high), nodata: nil, isInverted: false, into: target,
      isData: unused)
    return BandRow(base: UnsafeRawPointer(target), stride: 1)
  }

  /// Sets the alpha of words that are opaque or clear, and divides premultiplied colours by it.
  private func applyAlpha(_ alpha: BandRow, count: Int, to words: UnsafeMutablePointer<UInt32>) {
    let samples = alpha.samples
    for i in 0..<count {
      let a = UInt32(samples[i &* alpha.stride])
      let word = words[i]
      if a == 0 || word == 0 {
        words[i] = 0
      } else if a == 255 || !model.isAssociated {
        words[i] = word & 0x00ff_ffff | a << 24
      } else {
        let r = min(255, ((word & 255) &* 255 &+ a / 2) / a)
        let g = min(255, ((word >> 8 & 255) &* 255 &+ a / 2) / a)
        let b = min(255, ((word >> 16 & 255) &* 255 &+ a / 2) / a)
        words[i] = r | g << 8 | b << 16 | a << 24
      }
    }
  }

  private static func anyVisible(_ words: UnsafePointer<UInt32>, count: Int) -> Bool {
    var any: UInt32 = 0
    for i in 0..<count { any |= words[i] }
    return any != 0
  }
}
